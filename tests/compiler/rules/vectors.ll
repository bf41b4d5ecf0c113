; MODES: udsm
; Lanes that are not set are not looked up: their addresses may be none.
; CHECK-LABEL: define void @masked
; CHECK: %[[BITS:.*]] = bitcast <4 x i1> %{{.*}} to i4
; CHECK: icmp ne i64 %{{.*}}, 0
; CHECK: br i1
; CHECK: call i64 @llvm.cttz.i64(i64 %{{.*}}, i1 true)
; CHECK: call i64 @llvm.ctlz.i64(i64 %{{.*}}, i1 true)
; CHECK: and i8 %{{.*}}, 2
; CHECK: call preserve_allcc
; CHECK: call void @llvm.masked.store
define void @masked(ptr %a, <4 x double> %x, <4 x i1> %mask) {
  call void @llvm.masked.store.v4f64.p0(<4 x double> %x, ptr %a, i32 8, <4 x i1> %mask)
  ret void
}
; CHECK-LABEL: define <2 x double> @gathered
; CHECK: extractelement <2 x i1> %{{.*}}, {{i32|i64}} 0
; CHECK: br i1
; CHECK: extractelement <2 x ptr> %p, {{i32|i64}} 0
; CHECK: call preserve_allcc void %{{.*}}(i64 %{{[0-9]+}}) #
; CHECK: extractelement <2 x i1> %{{.*}}, {{i32|i64}} 1
; CHECK: br i1
; CHECK: extractelement <2 x ptr> %p, {{i32|i64}} 1
; CHECK: call preserve_allcc void %{{.*}}(i64 %{{[0-9]+}}) #
; CHECK: call <2 x double> @llvm.masked.gather
define <2 x double> @gathered(<2 x ptr> %p, <2 x i1> %mask) {
  %x = call <2 x double> @llvm.masked.gather.v2f64.v2p0(<2 x ptr> %p, i32 8, <2 x i1> %mask, <2 x double> undef)
  ret <2 x double> %x
}
; CHECK-LABEL: define void @packed
; CHECK: call i64 @llvm.ctpop.i64
; CHECK: call preserve_allcc
; CHECK: call void @llvm.masked.compressstore
define void @packed(ptr %a, <4 x double> %x, <4 x i1> %mask) {
  call void @llvm.masked.compressstore.v4f64(<4 x double> %x, ptr %a, <4 x i1> %mask)
  ret void
}
declare void @llvm.masked.store.v4f64.p0(<4 x double>, ptr, i32, <4 x i1>)
declare <2 x double> @llvm.masked.gather.v2f64.v2p0(<2 x ptr>, i32, <2 x i1>, <2 x double>)
declare void @llvm.masked.compressstore.v4f64(<4 x double>, ptr, <4 x i1>)
