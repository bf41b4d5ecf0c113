; Arrays that a loop walks become ranges before it; the bytes written are overwritten, for the read lies
; elsewhere by its type.
; CHECK: remark: {{.*}}: read before the loop: (4 * %n) bytes at %from + 0
; CHECK: remark: {{.*}}: overwrite before the loop: (8 * %n) bytes at %to + 0
; CHECK-LABEL: define void @convert
; CHECK: freeze i64
; CHECK: call preserve_allcc void %{{.*}}(i64 %{{.*}}, i64 %{{.*}})
define void @convert(ptr %to, ptr %from, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %f = getelementptr i32, ptr %from, i64 %i
  %x = load i32, ptr %f, !tbaa !1
  %y = sitofp i32 %x to double
  %t = getelementptr double, ptr %to, i64 %i
  store double %y, ptr %t, !tbaa !2
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
!0 = !{!"root"}
!1 = !{!3, !3, i64 0}
!2 = !{!4, !4, i64 0}
!3 = !{!"int", !0}
!4 = !{!"double", !0}
