; A read that happens in some iterations is fetched for all; a write that does not happen is none.
; CHECK: read before the loop: (8 * %n) bytes at %a + 0
; CHECK-NOT: write before
; CHECK: write left to page faults: the write does not happen in each iteration
; CHECK-NOT: write before
define void @some(ptr %a, ptr noalias %b, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p
  %positive = fcmp ogt double %x, 0.0
  br i1 %positive, label %then, label %latch
then:
  %q = getelementptr double, ptr %b, i64 %i
  store double %x, ptr %q
  br label %latch
latch:
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
; A condition that is the same in all iterations guards the range.
; CHECK: overwrite before the loop: (8 * %n) bytes at %b + 0, if its conditions hold
define void @one_condition(ptr %b, i64 %n, i32 %mode) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %is = icmp eq i32 %mode, 3
  br i1 %is, label %then, label %latch
then:
  %q = getelementptr double, ptr %b, i64 %i
  store double 1.0, ptr %q
  br label %latch
latch:
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
