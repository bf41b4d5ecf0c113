; No bytes are dropped where they are read first, where some stay, or where the loop may not end.
declare double @llvm.sqrt.f64(double)
declare double @sqrt(double)
; CHECK: remark: {{.*}}: write before the loop: (8 * %n) bytes at %a + 0
define void @reads_first(ptr %a, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p
  %y = fadd double %x, 1.0
  store double %y, ptr %p
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
; CHECK-NOT: overwrite
; CHECK: remark: {{.*}}: write before the loop: ({{.*}}16 * %n){{.*}} bytes at %a + 0
define void @leaves_a_gap(ptr %a, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr {double, double}, ptr %a, i64 %i
  store double 0.0, ptr %p
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
; CHECK-NOT: overwrite
; CHECK: remark: {{.*}}: write before the loop: (8 * %n) bytes at %a + 0
define void @may_leave(ptr %a, i64 %n, double %x) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %a, i64 %i
  %y = call double @sqrt(double %x)
  store double %y, ptr %p
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
; A gathered read may name any byte of the array.
; CHECK-NOT: overwrite
; CHECK: remark: {{.*}}: write before the loop: (8 * %n) bytes at %a + 0
define void @gathers(ptr %a, ptr noalias %index, ptr %from, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %k = getelementptr i64, ptr %index, i64 %i
  %at = load i64, ptr %k
  %f = getelementptr double, ptr %from, i64 %at
  %x = load double, ptr %f
  %p = getelementptr double, ptr %a, i64 %i
  store double %x, ptr %p
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
; Two fields that fill the structure are written whole.
; CHECK: remark: {{.*}}: overwrite before the loop: (16 * %n) bytes at %a + 0
define void @fills_fields(ptr %a, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr {double, double}, ptr %a, i64 %i
  %q = getelementptr i8, ptr %p, i64 8
  store double 0.0, ptr %p
  store double 1.0, ptr %q
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
