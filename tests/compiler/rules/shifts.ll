; An index that is shifted by a number that the loop does not change is affine.
; CHECK: read before the loop: {{.*}} bytes at %a + {{.*}}, if its conditions hold
; CHECK-LABEL: define double @rows
; CHECK: shl i64 1, %k
define double @rows(ptr %a, i64 %n, i64 %k) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %row = shl i64 %i, %k
  %p = getelementptr double, ptr %a, i64 %row
  %x = load double, ptr %p, align 8
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret double 0.0
}
