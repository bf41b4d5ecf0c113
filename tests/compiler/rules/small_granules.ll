; MODES: udsm
; OPTIONS: granule=64
; The states of granules of 64 bytes: one granule holds a hull of 64 bytes, and no wider one.
; CHECK-LABEL: define void @neighbours
; CHECK: lshr i64 %{{[0-9]+}}, 6
; CHECK: lshr i64 %{{[0-9]+}}, 6
; CHECK: call preserve_allcc void %{{.*}}(i64 %{{[0-9]+}}, i64 64)
; CHECK: store i64 1
; CHECK-NOT: lshr
; CHECK: store i64 2
; CHECK: lshr i64 %{{[0-9]+}}, 6
; CHECK: call preserve_allcc
; CHECK: store i64 3
; CHECK: ret void
define void @neighbours(ptr %a) {
  store i64 1, ptr %a, align 8
  %b = getelementptr i8, ptr %a, i64 56
  store i64 2, ptr %b, align 8
  %c = getelementptr i8, ptr %a, i64 64
  store i64 3, ptr %c, align 8
  ret void
}
; Bytes that may lie in three granules are a range.
; CHECK-LABEL: define void @copy
; CHECK: call i64 @llvm.umin.i64(i64 %{{[0-9]+}}, i64 140737488354816)
define void @copy(ptr noalias %a) {
  call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 65, i1 false)
  ret void
}
; Elements farther apart than a granule are no range: blocks between them may be as small.
; CHECK-LABEL: define i64 @sparse
; CHECK: loop:
; CHECK: call preserve_allcc
; CHECK: br i1 %more, label %loop
define i64 @sparse(ptr %a) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i64 [ 0, %entry ], [ %new, %loop ]
  %p = getelementptr [16 x i64], ptr %a, i64 %i
  %x = load i64, ptr %p, align 8
  %new = add i64 %sum, %x
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, 1000
  br i1 %more, label %loop, label %end
end:
  ret i64 %new
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
