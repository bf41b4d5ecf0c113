; Nothing says that the arrays differ: whether the old bytes are wanted is decided at run time.
; CHECK: remark: {{.*}}: overwrite if apart before the loop: (8 * %n) bytes at %to + 0
; CHECK-LABEL: define void @copy
; CHECK: %[[APART:.*]] = select i1 %{{.*}}, ptr inttoptr (i64 1879044128 to ptr), ptr inttoptr (i64 1879044120 to ptr)
; CHECK: load ptr, ptr %[[APART]]
define void @copy(ptr %to, ptr %from, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %f = getelementptr double, ptr %from, i64 %i
  %x = load double, ptr %f
  %y = fadd double %x, 1.0
  %t = getelementptr double, ptr %to, i64 %i
  store double %y, ptr %t
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
