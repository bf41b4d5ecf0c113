; A fill or a copy of some length is a range by itself; a copy drops bytes only if it does not copy onto
; itself, a move never does.
; CHECK: overwrite before the copy: %n bytes at %a + 0
; CHECK: read before the copy: %n bytes at %b + 0
; CHECK: overwrite if apart before the copy: %n bytes at %a + 0
; CHECK: read before the copy: %n bytes at %b + 0
; CHECK: write before the copy: %n bytes at %a + 0
; CHECK-NOT: before the copy
define void @fill(ptr %a, i64 %n) {
  call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 %n, i1 false)
  ret void
}
define void @copy(ptr %a, ptr %b, i64 %n) {
  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %b, i64 %n, i1 false)
  ret void
}
define void @move(ptr %a, ptr %b, i64 %n) {
  call void @llvm.memmove.p0.p0.i64(ptr %a, ptr %b, i64 %n, i1 false)
  ret void
}
define void @small(ptr %a) {
  call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 64, i1 false)
  ret void
}
define void @volatile(ptr %a, i64 %n) {
  call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 %n, i1 true)
  ret void
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
