; MODES: adsm udsm
; An access that no range covers is checked: one state, a bit of it, and the entry in an unlikely block. Loads are
; checked in udsm alone. Memory of one thread is not, and code without optimisation is.
; CHECK-LABEL: define double @load_and_store
; UDSM: %[[LOADED:.*]] = ptrtoint ptr %a to i64
; UDSM: %[[GRANULE:.*]] = lshr i64 %[[LOADED]], 12
; UDSM: %[[PLACE:.*]] = add i64 %[[GRANULE]], 1879048192
; UDSM: %[[AT:.*]] = inttoptr i64 %[[PLACE]] to ptr
; UDSM: %[[STATE:.*]] = load i8, ptr %[[AT]], align 1
; UDSM: and i8 %[[STATE]], 1
; UDSM: br i1 %{{.*}}, !prof
; UDSM: %[[ENTRY:.*]] = load ptr, ptr inttoptr (i64 1879044096 to ptr)
; UDSM: call preserve_allcc void %[[ENTRY]](i64 %[[LOADED]])
; ADSM-NOT: preserve_allcc
; CHECK: load double, ptr %a
; CHECK: and i8 %{{.*}}, 2
; CHECK: %[[WRITE:.*]] = load ptr, ptr inttoptr (i64 1879044104 to ptr)
; CHECK: call preserve_allcc void %[[WRITE]](i64 %{{.*}})
; CHECK: store double %x, ptr %b
; CHECK: ret double
define double @load_and_store(ptr %a, ptr %b) {
  %x = load double, ptr %a, align 8
  store double %x, ptr %b, align 8
  ret double %x
}
; CHECK-LABEL: define i32 @own
; CHECK-NOT: preserve_allcc
; CHECK: ret i32
define i32 @own() {
  %p = alloca i32
  store i32 1, ptr %p
  %x = load i32, ptr %p
  ret i32 %x
}
; CHECK-LABEL: define void @plain
; CHECK: call preserve_allcc
; CHECK: store i32 1, ptr %a
define void @plain(ptr %a) noinline optnone {
  store i32 1, ptr %a
  ret void
}
; Atomic and volatile accesses are checked too, and each is: another thread may have come between.
; CHECK-LABEL: define void @ordered
; CHECK: call preserve_allcc
; CHECK: atomicrmw add
; CHECK: call preserve_allcc
; CHECK: cmpxchg
; CHECK: call preserve_allcc
; CHECK: store volatile
; UDSM: call preserve_allcc
; ADSM-NOT: call preserve_allcc
; CHECK: load atomic
; CHECK: ret void
define void @ordered(ptr %a) {
  %x = atomicrmw add ptr %a, i64 1 monotonic
  %y = cmpxchg ptr %a, i64 1, i64 2 seq_cst seq_cst
  store volatile i64 3, ptr %a
  %z = load atomic i64, ptr %a acquire, align 8
  ret void
}
; The variables of the frame stay at the beginning of the function.
; CHECK-LABEL: define void @frame
; CHECK-NEXT: alloca i64
; CHECK-NEXT: alloca i32
; CHECK: call preserve_allcc
define void @frame(ptr %a) {
  %one = alloca i64
  store i32 1, ptr %a
  %two = alloca i32
  call void @use(ptr %one, ptr %two)
  ret void
}
declare void @use(ptr, ptr)
