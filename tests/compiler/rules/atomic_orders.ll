; MODES: hint adsm udsm
; Operations whose source orders nothing are marked, and fences are instructions of every processor.
; CHECK-LABEL: define i32 @relaxed
; CHECK: atomicrmw add ptr %p, i32 1 monotonic, align 4, !pcsections ![[MARK:[0-9]+]]
; CHECK: atomicrmw fadd ptr %q, double 1.000000e+00 monotonic, align 8, !pcsections ![[MARK]]
; CHECK: cmpxchg weak ptr %p, i32 1, i32 2 monotonic monotonic, align 4, !pcsections ![[MARK]]
define i32 @relaxed(ptr %p, ptr %q) {
  %old = atomicrmw add ptr %p, i32 1 monotonic, align 4
  %sum = atomicrmw fadd ptr %q, double 1.0 monotonic, align 8
  %both = cmpxchg weak ptr %p, i32 1, i32 2 monotonic monotonic, align 4
  ret i32 %old
}
; CHECK-LABEL: define i32 @ordered
; CHECK-NOT: pcsections
; CHECK: fence seq_cst
; CHECK-NEXT: fence seq_cst
; CHECK-NEXT: fence seq_cst
; CHECK-NEXT: fence seq_cst
; CHECK-NEXT: fence syncscope("singlethread") acquire
; CHECK-NOT: pcsections
; CHECK: ret i32
define i32 @ordered(ptr %p) {
  %a = atomicrmw add ptr %p, i32 1 acquire, align 4
  %b = atomicrmw add ptr %p, i32 1 release, align 4
  %c = atomicrmw add ptr %p, i32 1 acq_rel, align 4
  %d = atomicrmw xchg ptr %p, i32 1 seq_cst, align 4
  %e = cmpxchg ptr %p, i32 1, i32 2 monotonic acquire, align 4
  %f = cmpxchg ptr %p, i32 1, i32 2 release monotonic, align 4
  fence acquire
  fence release
  fence acq_rel
  fence seq_cst
  fence syncscope("singlethread") acquire
  ret i32 %a
}
; CHECK: ![[MARK]] = !{!"musubi_relaxed_atomics"}
