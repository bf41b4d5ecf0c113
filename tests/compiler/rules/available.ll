; MODES: adsm udsm
; A check is good until threads may meet, on each way to the access.
declare void @barrier()
declare double @exp(double)
declare i32 @twice() returns_twice
; CHECK-LABEL: define void @again
; CHECK: call preserve_allcc
; CHECK: store i64 1
; CHECK-NOT: preserve_allcc
; CHECK: ret void
define void @again(ptr %a, i1 %c, double %x) {
  store i64 1, ptr %a, align 8
  %e = call double @exp(double %x)
  br i1 %c, label %left, label %right
left:
  store i64 2, ptr %a, align 8
  br label %right
right:
  store i64 3, ptr %a, align 8
  ret void
}
; CHECK-LABEL: define void @killed_on_one_way
; CHECK: call preserve_allcc
; CHECK: left:
; CHECK-NOT: preserve_allcc
; CHECK: right:
; CHECK: call preserve_allcc
; CHECK: store i64 3
define void @killed_on_one_way(ptr %a, i1 %c) {
  store i64 1, ptr %a, align 8
  br i1 %c, label %left, label %right
left:
  store i64 2, ptr %a, align 8
  call void @barrier()
  br label %right
right:
  store i64 3, ptr %a, align 8
  ret void
}
; CHECK-LABEL: define void @checked_on_one_way
; CHECK: left:
; CHECK: call preserve_allcc
; CHECK: right:
; CHECK: call preserve_allcc
; CHECK: store i64 3
define void @checked_on_one_way(ptr %a, i1 %c) {
  br i1 %c, label %left, label %right
left:
  store i64 2, ptr %a, align 8
  br label %right
right:
  store i64 3, ptr %a, align 8
  ret void
}
; CHECK-LABEL: define void @checked_on_both_ways
; CHECK: right:
; CHECK: call preserve_allcc
; CHECK: both:
; CHECK-NOT: preserve_allcc
; CHECK: ret void
define void @checked_on_both_ways(ptr %a, i1 %c) {
  br i1 %c, label %left, label %right
left:
  store i64 2, ptr %a, align 8
  br label %both
right:
  store i64 4, ptr %a, align 8
  br label %both
both:
  store i64 3, ptr %a, align 8
  ret void
}
; What the loop's end kills is not there at its beginning.
; CHECK-LABEL: define void @around_a_loop
; CHECK: call preserve_allcc
; CHECK: loop:
; CHECK: call preserve_allcc
; CHECK: store i64 2
; CHECK: call void @barrier()
define void @around_a_loop(ptr %a, ptr %b) {
entry:
  store i64 1, ptr %a, align 8
  br label %loop
loop:
  store i64 2, ptr %a, align 8
  call void @barrier()
  %x = load volatile i64, ptr %b
  %more = icmp ne i64 %x, 0
  br i1 %more, label %loop, label %done
done:
  ret void
}
; CHECK-LABEL: define void @through_a_loop
; CHECK: call preserve_allcc
; CHECK: loop:
; CHECK-NOT: preserve_allcc
; CHECK: store i64 2
; CHECK: ret void
define void @through_a_loop(ptr %a, double %x) {
entry:
  store i64 1, ptr %a, align 8
  br label %loop
loop:
  %y = phi double [ %x, %entry ], [ %e, %loop ]
  store i64 2, ptr %a, align 8
  %e = call double @exp(double %y)
  %more = fcmp olt double %e, 3.0
  br i1 %more, label %loop, label %done
done:
  ret void
}
; The pointer is another one in each iteration.
; CHECK-LABEL: define void @list
; CHECK: loop:
; CHECK: call preserve_allcc
; CHECK: store ptr null
define void @list(ptr %first, ptr %a) {
entry:
  store ptr null, ptr %first, align 8
  br label %loop
loop:
  %p = phi ptr [ %first, %entry ], [ %next, %loop ]
  store ptr null, ptr %p, align 8
  %at = getelementptr i8, ptr %p, i64 8
  %next = load ptr, ptr %at, align 8
  %more = icmp ne ptr %next, null
  br i1 %more, label %loop, label %done
done:
  ret void
}
; A write makes its bytes readable, a read makes none writable.
; CHECK-LABEL: define i64 @kinds
; UDSM: and i8 %{{.*}}, 1
; UDSM: load i64, ptr %a
; CHECK: left:
; CHECK: and i8 %{{.*}}, 2
; CHECK: store i64 2
; CHECK-NOT: preserve_allcc
; CHECK: ret i64
define i64 @kinds(ptr %a) {
  %x = load i64, ptr %a, align 8
  br label %left
left:
  store i64 2, ptr %a, align 8
  br label %right
right:
  ret i64 %x
}
; It returns again after all that follows.
; CHECK-LABEL: define void @jumped_to
; CHECK: call preserve_allcc
; CHECK: call i32 @twice()
; CHECK: call preserve_allcc
; CHECK: store i64 2
define void @jumped_to(ptr %a) {
  store i64 1, ptr %a, align 8
  %x = call i32 @twice() nosync returns_twice
  store i64 2, ptr %a, align 8
  ret void
}
; A check that is the same in all iterations comes before the loop, unless code before it may end or is a kill.
; CHECK-LABEL: define void @same_place
; CHECK: call preserve_allcc
; CHECK: loop:
; CHECK-NOT: preserve_allcc
; CHECK: store double %y, ptr %a
; CHECK: ret void
define void @same_place(ptr %a, double %x) {
entry:
  br label %loop
loop:
  %y = phi double [ %x, %entry ], [ %e, %loop ]
  store double %y, ptr %a, align 8
  %e = call double @exp(double %y)
  %more = fcmp olt double %e, 3.0
  br i1 %more, label %loop, label %done
done:
  ret void
}
; CHECK-LABEL: define void @judged_place
; CHECK-NOT: preserve_allcc
; CHECK: loop:
; CHECK: call preserve_allcc
; CHECK: store double %y, ptr %a
define void @judged_place(ptr %a, double %x) {
entry:
  br label %loop
loop:
  %y = phi double [ %x, %entry ], [ %e, %loop ]
  %e = call double @exp(double %y)
  store double %y, ptr %a, align 8
  %more = fcmp olt double %e, 3.0
  br i1 %more, label %loop, label %done
done:
  ret void
}
