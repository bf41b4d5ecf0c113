; The test of a range: shorter ones than 512 bytes and empty ones, also of negative length, go by; no address
; from 2^47 on is looked up; up to 8 granules are tested by one load; the call clobbers nothing.
; CHECK-LABEL: define double @sum
; CHECK: %[[ADDRESS:.*]] = freeze i64
; CHECK: %[[LENGTH:.*]] = freeze i64
; CHECK: icmp sge i64 %[[LENGTH]], 512
; CHECK: %[[END:.*]] = add i64 %[[ADDRESS]], %{{.*}}
; CHECK: %[[FIRST:.*]] = lshr i64 %[[ADDRESS]], 12
; CHECK: %[[LAST:.*]] = lshr i64 %[[END]], 12
; CHECK: %[[ORDER:.*]] = icmp ule i64 %[[ADDRESS]], %[[END]]
; CHECK: %[[BELOW:.*]] = icmp ult i64 %[[LAST]], 34359738360
; CHECK: %[[INSIDE:.*]] = and i1 %[[ORDER]], %[[BELOW]]
; CHECK: br i1 %[[INSIDE]]
; CHECK: %[[SLOT:.*]] = add i64 %[[FIRST]], 1879048192
; CHECK: inttoptr i64 %[[SLOT]] to ptr
; CHECK: %musubi.states = load i64, ptr %{{.*}}, align 1
; CHECK: and i64 %{{.*}}, 72340172838076673
; CHECK: load ptr, ptr inttoptr (i64 1879044112 to ptr)
; CHECK: call preserve_allcc void %{{.*}}(i64 %[[ADDRESS]], i64 %[[LENGTH]]) #[[HINT:[0-9]+]]
; CHECK: attributes #[[HINT]] = { nounwind memory(inaccessiblemem: readwrite) }
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
