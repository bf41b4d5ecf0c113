; MODES: hint adsm udsm
; The test of a range. A hint goes by if it is shorter than 512 bytes, or empty, or of negative length; so does a
; check that has no byte. No address from 2^47 on is looked up: a hint with one goes by, a check loses those bytes.
; Up to 8 granules are tested by one load; the call clobbers nothing. Loads may move over hints alone.
; CHECK-LABEL: define double @sum
; CHECK: %[[ADDRESS:.*]] = freeze i64
; CHECK: %[[LENGTH:.*]] = freeze i64
; HINT: icmp sge i64 %[[LENGTH]], 512
; HINT: %[[END:.*]] = add i64 %[[ADDRESS]], %[[LENGTH]]
; HINT: %[[ORDER:.*]] = icmp ult i64 %[[ADDRESS]], %[[END]]
; HINT: %[[BELOW:.*]] = icmp ule i64 %[[END]], 140737488322560
; HINT: %[[INSIDE:.*]] = and i1 %[[ORDER]], %[[BELOW]]
; HINT: br i1 %[[INSIDE]]
; HINT: %[[FIRST:.*]] = lshr i64 %[[ADDRESS]], 12
; ADSM: icmp sge i64 %[[LENGTH]], 512
; ADSM: %[[FIRST:.*]] = lshr i64 %[[ADDRESS]], 12
; UDSM: %[[SUM:.*]] = add i64 %[[ADDRESS]], %[[LENGTH]]
; UDSM: %[[BEGIN:.*]] = call i64 @llvm.smax.i64(i64 %[[ADDRESS]], i64 0)
; UDSM: %[[END:.*]] = call i64 @llvm.smin.i64(i64 %[[SUM]], i64 140737488322560)
; UDSM: %[[BYTES:.*]] = sub i64 %[[END]], %[[BEGIN]]
; UDSM: %[[INSIDE:.*]] = icmp slt i64 %[[BEGIN]], %[[END]]
; UDSM: br i1 %[[INSIDE]]
; UDSM: %[[FIRST:.*]] = lshr i64 %[[BEGIN]], 12
; CHECK: %[[SLOT:.*]] = add i64 %[[FIRST]], 1879048192
; CHECK: inttoptr i64 %[[SLOT]] to ptr
; CHECK: load i64, ptr %{{.*}}, align 1
; CHECK: and i64 %{{.*}}, 72340172838076673
; CHECK: load ptr, ptr inttoptr (i64 1879044112 to ptr)
; HINT: call preserve_allcc void %{{.*}}(i64 %[[ADDRESS]], i64 %[[LENGTH]]) #[[EFFECTS:[0-9]+]]
; ADSM: call preserve_allcc void %{{.*}}(i64 %[[ADDRESS]], i64 %[[LENGTH]]) #[[EFFECTS:[0-9]+]]
; UDSM: call preserve_allcc void %{{.*}}(i64 %[[BEGIN]], i64 %[[BYTES]]) #[[EFFECTS:[0-9]+]]
; HINT: attributes #[[EFFECTS]] = { nounwind memory(inaccessiblemem: readwrite) "musubi-entry" }
; ADSM: attributes #[[EFFECTS]] = { nounwind memory(inaccessiblemem: readwrite) "musubi-entry" }
; UDSM: attributes #[[EFFECTS]] = { nounwind "musubi-entry" }
define double @sum(ptr %a, i64 %n) memory(argmem: read) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret double 0.0
}
