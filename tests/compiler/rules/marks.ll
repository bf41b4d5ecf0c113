; MODES: udsm
; A mark goes next to the scopes that an access has. An access of many kinds is marked for those that a range
; covers.
; CHECK-LABEL: define void @copy
; CHECK: load double, ptr %f, align 8, !alias.scope ![[READ:[0-9]+]], !noalias
; CHECK: store double %x, ptr %t, align 8, !alias.scope ![[WRITTEN:[0-9]+]]
; CHECK-DAG: ![[READ]] = !{![[OWN:[0-9]+]], ![[READ_MARK:[0-9]+]]}
; CHECK-DAG: ![[OWN]] = distinct !{![[OWN]], !{{[0-9]+}}, !"own"}
; CHECK-DAG: ![[READ_MARK]] = distinct !{![[READ_MARK]], !{{[0-9]+}}, !"musubi.read"}
; CHECK-DAG: ![[WRITTEN]] = !{![[WRITE_MARK:[0-9]+]]}
; CHECK-DAG: ![[WRITE_MARK]] = distinct !{![[WRITE_MARK]], !{{[0-9]+}}, !"musubi.written"}
define void @copy(ptr %to, ptr %from, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %f = getelementptr double, ptr %from, i64 %i
  %x = load double, ptr %f, align 8, !alias.scope !2, !noalias !3
  %t = getelementptr double, ptr %to, i64 %i
  store double %x, ptr %t, align 8
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
!0 = distinct !{!0, !"domain"}
!1 = distinct !{!1, !0, !"own"}
!2 = !{!1}
!4 = distinct !{!4, !0, !"other"}
!3 = !{!4}
