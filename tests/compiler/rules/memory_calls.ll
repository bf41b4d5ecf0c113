; MODES: adsm udsm
; Copies and fills: outside of loops, those of some length are ranges already in the early phase.
; CHECK: overwrite before the copy: %n bytes at %a + 0
; CHECK-LABEL: define void @fill
; CHECK-COUNT-1: call preserve_allcc
; CHECK-NOT: preserve_allcc
; CHECK: call void @llvm.memset
define void @fill(ptr %a, i64 %n) {
  call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 %n, i1 false)
  ret void
}
; Short ones are tested at both ends, as any access.
; CHECK-LABEL: define void @short
; UDSM: add i64 %{{.*}}, 23
; UDSM: call preserve_allcc void %{{.*}}(i64 %{{.*}}, i64 24)
; CHECK: add i64 %{{.*}}, 23
; CHECK: call preserve_allcc void %{{.*}}(i64 %{{.*}}, i64 24)
; CHECK: call void @llvm.memcpy
define void @short(ptr %a, ptr %b) {
  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %b, i64 24, i1 false)
  ret void
}
; Without optimisation, and for functions of the C library, the late phase tests ranges. No address beyond the
; table is looked up.
; CHECK-LABEL: define void @plain
; CHECK: %[[END:.*]] = add i64 %{{.*}}, %n
; CHECK: call i64 @llvm.umin.i64(i64 %[[END]], i64 140737488322560)
; CHECK: icmp ult
; CHECK: call preserve_allcc void %{{.*}}(i64 %{{.*}}, i64 %{{.*}})
; CHECK: call void @llvm.memset
define void @plain(ptr %a, i64 %n) noinline optnone {
  call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 %n, i1 false)
  ret void
}
; CHECK-LABEL: define i32 @compare
; UDSM-COUNT-2: call preserve_allcc
; ADSM-NOT: preserve_allcc
; CHECK: call i32 @memcmp
define i32 @compare(ptr %a, ptr %b, i64 %n) {
  %x = call i32 @memcmp(ptr %a, ptr %b, i64 %n)
  ret i32 %x
}
; CHECK-LABEL: define ptr @append
; CHECK: call preserve_allcc
; CHECK: call ptr @mempcpy
define ptr @append(ptr %a, ptr %b, i64 %n) {
  %x = call ptr @mempcpy(ptr %a, ptr %b, i64 %n)
  ret ptr %x
}
; An argument by value is copied by the call, a list of arguments is written by va_start.
; CHECK-LABEL: define void @by_value
; UDSM: call preserve_allcc void %{{.*}}(i64 %{{.*}}, i64 40)
; CHECK: call void @take
define void @by_value(ptr %a) {
  call void @take(ptr byval([5 x i64]) %a)
  ret void
}
; CHECK-LABEL: define void @list
; CHECK: call preserve_allcc void %{{.*}}(i64 %{{.*}}, i64 24)
; CHECK: call void @llvm.va_start
define void @list(ptr %a, ...) {
  call void @llvm.va_start.p0(ptr %a)
  ret void
}
declare void @take(ptr)
declare void @llvm.va_start.p0(ptr)
declare i32 @memcmp(ptr, ptr, i64)
declare ptr @mempcpy(ptr, ptr, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
; Clocks fill a struct; a null pointer is none.
; CHECK-LABEL: define void @clocks
; CHECK: add i64 %{{.*}}, 15
; CHECK: call preserve_allcc void %{{.*}}(i64 %{{.*}}, i64 16)
; CHECK: call i32 @clock_gettime
; CHECK-NOT: preserve_allcc
; CHECK: call i64 @time(ptr null)
; CHECK: ret void
define void @clocks(ptr %a) {
  %error = call i32 @clock_gettime(i32 1, ptr %a)
  %seconds = call i64 @time(ptr null)
  ret void
}
declare i32 @clock_gettime(i32, ptr)
declare i64 @time(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
