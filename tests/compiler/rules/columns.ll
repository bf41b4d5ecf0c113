; A read that is too sparse for a range has bounds all the same: a column becomes a row.
; CHECK: overwrite if apart before the loop: (8 * %n) bytes at %b + 0
; CHECK: overwrite if apart before the loop: (8 * %n) bytes at %b + 0
; CHECK: overwrite if apart before the loop: (8 * %n) bytes at %b + {0,+,8192}
; CHECK-LABEL: define void @column_of_known_stride
; CHECK: select i1 %{{.*}}, ptr inttoptr (i64 1879044128 to ptr), ptr inttoptr (i64 1879044120 to ptr)
define void @column_of_known_stride(ptr %a, ptr %b, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr inbounds [1024 x double], ptr %a, i64 %i
  %x = load double, ptr %at, align 8
  %to = getelementptr inbounds double, ptr %b, i64 %i
  store double %x, ptr %to, align 8
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
; CHECK-LABEL: define void @column_of_other_stride
; CHECK: select i1 %{{.*}}, ptr inttoptr (i64 1879044128 to ptr), ptr inttoptr (i64 1879044120 to ptr)
define void @column_of_other_stride(ptr %a, ptr %b, i64 %n, i64 %stride) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %j = mul nsw i64 %i, %stride
  %at = getelementptr inbounds double, ptr %a, i64 %j
  %x = load double, ptr %at, align 8
  %to = getelementptr inbounds double, ptr %b, i64 %i
  store double %x, ptr %to, align 8
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
; Rows by a pointer to them: the columns of one are the rows of the other.
; CHECK-LABEL: define void @turned
; CHECK: select i1 %{{.*}}, ptr inttoptr (i64 1879044128 to ptr), ptr inttoptr (i64 1879044120 to ptr)
define void @turned(ptr %a, ptr %b, i64 %n, i64 %rows) {
entry:
  %any = icmp sgt i64 %n, 0
  %any_row = icmp sgt i64 %rows, 0
  %both = and i1 %any, %any_row
  br i1 %both, label %outer, label %done
outer:
  %column = phi i64 [ 0, %entry ], [ %next_column, %end ]
  br label %loop
loop:
  %i = phi i64 [ 0, %outer ], [ %next, %loop ]
  %at = getelementptr inbounds [1024 x double], ptr %a, i64 %i, i64 %column
  %x = load double, ptr %at, align 8
  %to = getelementptr inbounds [1024 x double], ptr %b, i64 %column, i64 %i
  store double %x, ptr %to, align 8
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  %next_column = add nuw nsw i64 %column, 1
  %more_columns = icmp slt i64 %next_column, %rows
  br i1 %more_columns, label %outer, label %done
done:
  ret void
}
