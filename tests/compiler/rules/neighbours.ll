; MODES: adsm udsm
; Fields of one object have one check, whose hull begins at the lowest. The write check serves the reads.
; CHECK-LABEL: define double @fields
; UDSM: ptrtoint ptr %y to i64
; UDSM: add i64 %{{.*}}, -8
; UDSM: call preserve_allcc void %{{.*}}(i64 %{{.*}}, i64 24)
; CHECK-NOT: preserve_allcc
; CHECK: ret double
define double @fields(ptr %a) {
  %y = getelementptr i8, ptr %a, i64 8
  %z = getelementptr i8, ptr %a, i64 16
  %1 = load double, ptr %y, align 8
  %2 = load double, ptr %a, align 8
  %3 = load double, ptr %z, align 8
  %4 = fadd double %1, %2
  %5 = fadd double %3, %4
  ret double %5
}
; CHECK-LABEL: define void @increment
; CHECK: and i8 %{{.*}}, 2
; CHECK: call preserve_allcc
; CHECK-NOT: preserve_allcc
; CHECK: ret void
define void @increment(ptr %a) {
  %x = load i64, ptr %a, align 8
  %y = add i64 %x, 1
  store i64 %y, ptr %a, align 8
  ret void
}
; Places that are more than a granule apart have checks of their own, and so have those around a kill.
; CHECK-LABEL: define void @apart
; CHECK-COUNT-2: call preserve_allcc void %{{.*}}(i64 %{{[0-9]+}}) #
; CHECK: ret void
define void @apart(ptr %a) {
  %b = getelementptr i8, ptr %a, i64 4096
  store i64 1, ptr %a, align 8
  store i64 1, ptr %b, align 8
  ret void
}
; CHECK-LABEL: define void @around
; CHECK: call preserve_allcc void %{{.*}}(i64 %{{[0-9]+}}) #
; CHECK: store i64 1
; CHECK: call void @barrier()
; CHECK: call preserve_allcc void %{{.*}}(i64 %{{[0-9]+}}) #
; CHECK: store i64 2
define void @around(ptr %a) {
  %b = getelementptr i8, ptr %a, i64 8
  store i64 1, ptr %a, align 8
  call void @barrier()
  store i64 2, ptr %b, align 8
  ret void
}
declare void @barrier()
; One base with an index: elements around it.
; CHECK-LABEL: define void @elements
; CHECK: call preserve_allcc void %{{.*}}(i64 %{{.*}}, i64 16)
; CHECK-NOT: preserve_allcc
; CHECK: ret void
define void @elements(ptr %a, i64 %i) {
  %p = getelementptr double, ptr %a, i64 %i
  %k = add nsw i64 %i, 1
  %q = getelementptr double, ptr %a, i64 %k
  store double 1.0, ptr %p, align 8
  store double 1.0, ptr %q, align 8
  ret void
}
; Neighbours in blocks that surely follow are checked with the first; others are not.
; CHECK-LABEL: define void @follows
; CHECK: call preserve_allcc void %{{.*}}(i64 %{{.*}}, i64 24)
; CHECK: left:
; CHECK: call preserve_allcc void %{{.*}}(i64 %{{[0-9]+}}) #
; CHECK: right:
; CHECK-NOT: preserve_allcc
; CHECK: ret void
define void @follows(ptr %a, i1 %c) {
  %b = getelementptr i8, ptr %a, i64 16
  %far = getelementptr i8, ptr %a, i64 64
  store i64 1, ptr %a, align 8
  br i1 %c, label %left, label %right
left:
  store i64 2, ptr %far, align 8
  br label %right
right:
  store i64 3, ptr %b, align 8
  ret void
}
