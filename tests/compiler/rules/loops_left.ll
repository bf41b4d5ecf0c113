; Loops that may end earlier, or whose end is not known before them.
; CHECK: read left to page faults: the loop may end in its middle
define i64 @search(ptr %a, i64 %n, double %key) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p
  %found = fcmp oeq double %x, %key
  br i1 %found, label %done, label %latch
latch:
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i64 %i
}
; CHECK: read left to page faults: the number of iterations is not known before the loop
define i64 @list(ptr %first) {
entry:
  br label %loop
loop:
  %p = phi ptr [ %first, %entry ], [ %next, %loop ]
  %next = load ptr, ptr %p
  %more = icmp ne ptr %next, null
  br i1 %more, label %loop, label %done
done:
  ret i64 0
}
; CHECK: read left to page faults: the address comes from memory or a call in the loop
define double @rows(ptr noalias %rows, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %r = getelementptr ptr, ptr %rows, i64 %i
  %p = load ptr, ptr %r
  %x = load double, ptr %p
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret double %x
}
; CHECK: read left to page faults: the range is short
define double @short(ptr %a) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, 8
  br i1 %more, label %loop, label %done
done:
  ret double %x
}
