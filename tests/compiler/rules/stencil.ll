; Neighbours become one hull. The write next to them is not widened.
; CHECK: read before the loop: (16 + (8 * %n)) bytes at %a + 0
; CHECK: overwrite before the loop: (8 * %n) bytes at %b + 8
; CHECK-NOT: before the loop
define void @smooth(ptr noalias %b, ptr noalias %a, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %a, i64 %i
  %q = getelementptr i8, ptr %p, i64 8
  %r = getelementptr i8, ptr %p, i64 16
  %x = load double, ptr %p
  %y = load double, ptr %q
  %z = load double, ptr %r
  %xy = fadd double %x, %y
  %xyz = fadd double %xy, %z
  %b0 = getelementptr double, ptr %b, i64 %i
  %t = getelementptr i8, ptr %b0, i64 8
  store double %xyz, ptr %t
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
