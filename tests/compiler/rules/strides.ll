; Downward, apart by more than a granule, and by a number known at run time.
; CHECK: read before the loop: (8 * %n) bytes at %a + (8 + (-8 * %n))
define double @down(ptr %a, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %less = sub nsw i64 0, %i
  %p = getelementptr double, ptr %a, i64 %less
  %x = load double, ptr %p
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret double 0.0
}
; CHECK: read left to page faults: most of the bytes between two iterations are not touched
define double @sparse(ptr %a, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr [2048 x double], ptr %a, i64 %i
  %x = load double, ptr %p
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret double 0.0
}
; CHECK: read before the loop: {{.*}} bytes at %a + {{.*}}, if its conditions hold
; CHECK-LABEL: define double @some_stride
; CHECK: icmp ule
define double @some_stride(ptr %a, i64 %n, i64 %stride) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = mul nsw i64 %i, %stride
  %p = getelementptr double, ptr %a, i64 %at
  %x = load double, ptr %p
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret double 0.0
}
