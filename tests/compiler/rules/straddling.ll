; MODES: udsm
; An access that may lie in two granules: one load shows whether both are open, its ends are looked at if not.
; CHECK-LABEL: define <2 x double> @unaligned
; CHECK: %[[ADDRESS:.*]] = ptrtoint ptr %a to i64
; CHECK: %[[PAIR:.*]] = load i16, ptr %{{.*}}, align 1
; CHECK: and i16 %[[PAIR]], 257
; CHECK: br i1 %{{.*}}, !prof
; CHECK: or i8
; CHECK: br i1
; CHECK: %[[ENTRY:.*]] = load ptr, ptr inttoptr (i64 1879044112 to ptr)
; CHECK: call preserve_allcc void %[[ENTRY]](i64 %[[ADDRESS]], i64 16)
; CHECK-NOT: br i1
; CHECK: ret <2 x double>
define <2 x double> @unaligned(ptr %a) {
  %x = load <2 x double>, ptr %a, align 8
  ret <2 x double> %x
}
; CHECK-LABEL: define <2 x double> @aligned
; CHECK-NOT: load i16
; CHECK: call preserve_allcc void %{{.*}}(i64 %{{[0-9]+}}) #
; CHECK: ret <2 x double>
define <2 x double> @aligned(ptr %a) {
  %x = load <2 x double>, ptr %a, align 16
  ret <2 x double> %x
}
