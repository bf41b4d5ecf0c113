; MODES: adsm udsm
; Checks stand before calls that may throw, and after the place where they land. A call that may throw and may
; synchronise is a kill on both ways.
declare void @throws()
declare i32 @__gxx_personality_v0(...)
; CHECK-LABEL: define void @land
; CHECK: call preserve_allcc
; CHECK: store i64 1
; CHECK: invoke void @throws()
; CHECK: normal:
; CHECK: call preserve_allcc
; CHECK: store i64 2
; CHECK: unwind:
; CHECK-NEXT: landingpad
; CHECK: call preserve_allcc
; CHECK: store i64 3
define void @land(ptr %a) personality ptr @__gxx_personality_v0 {
  store i64 1, ptr %a, align 8
  invoke void @throws() to label %normal unwind label %unwind
normal:
  store i64 2, ptr %a, align 8
  ret void
unwind:
  %pad = landingpad { ptr, i32 } cleanup
  store i64 3, ptr %a, align 8
  resume { ptr, i32 } %pad
}
