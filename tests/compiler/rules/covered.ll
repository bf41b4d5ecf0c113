; MODES: adsm udsm
; A range before the loop checks its accesses, also a short one. They carry a mark, and no check.
; CHECK: overwrite before the loop: 24 bytes at %a + 0
; CHECK-LABEL: define void @short
; CHECK: call preserve_allcc void %{{.*}}(i64 %{{.*}}, i64 24)
; CHECK-NOT: preserve_allcc
; CHECK: store double 1.000000e+00, ptr %p, align 8, !alias.scope
define void @short(ptr %a) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %a, i64 %i
  store double 1.0, ptr %p, align 8
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, 3
  br i1 %more, label %loop, label %done
done:
  ret void
}
; In adsm a short read is a hint not worth its test, and needs no check.
; CHECK-LABEL: define double @short_read
; ADSM-NOT: preserve_allcc
; UDSM: call preserve_allcc void %{{.*}}(i64 %{{.*}}, i64 24)
; CHECK: load double, ptr %p
; CHECK: ret double
define double @short_read(ptr %a) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p, align 8
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, 3
  br i1 %more, label %loop, label %done
done:
  ret double %x
}
; A write that does not happen in each iteration has a check of its own; the read that decides does not.
; CHECK-LABEL: define void @some
; CHECK: then:
; CHECK: and i8 %{{.*}}, 2
; CHECK: call preserve_allcc
; CHECK: store double %x, ptr %q, align 8{{$}}
define void @some(ptr %a, ptr %b, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p, align 8
  %positive = fcmp ogt double %x, 0.0
  br i1 %positive, label %then, label %latch
then:
  %q = getelementptr double, ptr %b, i64 %i
  store double %x, ptr %q, align 8
  br label %latch
latch:
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
; The range is left out at run time if it is not dense, and a loop before the loop tests its elements then.
; CHECK-LABEL: define void @some_stride
; CHECK: icmp ule
; CHECK: call preserve_allcc
; CHECK: loop:
; CHECK-NOT: call preserve_allcc
; CHECK: store double 1.000000e+00, ptr %p, align 8, !alias.scope
define void @some_stride(ptr %a, i64 %n, i64 %stride) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = mul nsw i64 %i, %stride
  %p = getelementptr double, ptr %a, i64 %at
  store double 1.0, ptr %p, align 8
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
; A comparison that wraps may hold in the middle and at neither end: a guard made of it covers nothing.
; CHECK-LABEL: define double @window
; UDSM: then:
; UDSM: call preserve_allcc
; CHECK: load double, ptr %p, align 8{{$}}
define double @window(ptr %a, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %from = sub i64 %i, 5
  %inside = icmp ult i64 %from, 10
  br i1 %inside, label %then, label %latch
then:
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p, align 8
  br label %latch
latch:
  %y = phi double [ 0.0, %loop ], [ %x, %then ]
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  %z = phi double [ 0.0, %entry ], [ %y, %latch ]
  ret double %z
}
; A read of bytes that the same range makes writable is covered by it.
; CHECK-LABEL: define void @increment
; CHECK: call preserve_allcc
; CHECK: loop:
; CHECK-NOT: preserve_allcc
; UDSM: load double, ptr %p, align 8, !alias.scope
; CHECK: store double %y, ptr %p, align 8, !alias.scope
define void @increment(ptr %a, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p, align 8
  %y = fadd double %x, 1.0
  store double %y, ptr %p, align 8
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
