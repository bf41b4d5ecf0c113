; MODES: adsm udsm
; OPTIONS: stores=home-only
; An aligned scalar of 4 or 8 bytes needs permission to store in udsm, if none of its words is UNWRITTEN: a value
; that has one is written, and that comes first. The value is compared and stored frozen.
declare void @barrier()
; CHECK-LABEL: define void @long
; ADSM: and i8 %{{.*}}, 2
; ADSM-NOT: icmp eq
; UDSM: %[[VALUE:.*]] = freeze i64 %x
; UDSM: %[[LOW:.*]] = trunc i64 %[[VALUE]] to i32
; UDSM: %[[IS_LOW:.*]] = icmp eq i32 %[[LOW]], -655371
; UDSM: %[[SHIFTED:.*]] = lshr i64 %[[VALUE]], 32
; UDSM: %[[HIGH:.*]] = trunc i64 %[[SHIFTED]] to i32
; UDSM: %[[IS_HIGH:.*]] = icmp eq i32 %[[HIGH]], -655371
; UDSM: %[[IS_ANY:.*]] = or i1 %[[IS_LOW]], %[[IS_HIGH]]
; UDSM: br i1 %[[IS_ANY]], label %{{.*}}, label %{{.*}}, !prof
; UDSM: %[[ADDRESS:.*]] = ptrtoint ptr %a to i64
; UDSM: load ptr, ptr inttoptr (i64 1879044104 to ptr)
; UDSM: call preserve_allcc void %{{.*}}(i64 %[[ADDRESS]]) #
; UDSM: and i8 %{{.*}}, 4
; UDSM: load ptr, ptr inttoptr (i64 1879044144 to ptr)
; UDSM: call preserve_allcc void %{{.*}}(i64 %{{[0-9]+}}) #
; UDSM: store i64 %[[VALUE]], ptr %a
; CHECK: ret void
define void @long(ptr %a, i64 %x) {
  store i64 %x, ptr %a, align 8
  ret void
}
; A NaN of 4 bytes comes out of arithmetic as it went in.
; CHECK-LABEL: define void @float
; UDSM: %[[SUM:.*]] = fadd float
; UDSM: %[[FROZEN:.*]] = freeze float %[[SUM]]
; UDSM: bitcast float %[[FROZEN]] to i32
; UDSM: icmp eq i32 %{{.*}}, -655371
; CHECK: ret void
define void @float(ptr %a, float %x) {
  %y = fadd float %x, 2.0
  store float %y, ptr %a, align 4
  ret void
}
; The processor's arithmetic gives quiet NaNs, which differ in the high word; a pass may take out the operation
; whose result is its operand.
; CHECK-LABEL: define void @computed
; UDSM: icmp eq i32
; UDSM-NOT: icmp eq i32
; CHECK: ret void
define void @computed(ptr %a, double %x, double %y, i1 %c) {
  %z = fmul double %x, %y
  %w = select i1 %c, double %z, double 1.0
  store double %w, ptr %a, align 8
  ret void
}
; CHECK-LABEL: define void @operand
; UDSM-COUNT-2: icmp eq i32
; CHECK: ret void
define void @operand(ptr %a, double %x) {
  %z = fmul double %x, 1.0
  store double %z, ptr %a, align 8
  ret void
}
; CHECK-LABEL: define void @reassociated
; UDSM-COUNT-2: icmp eq i32
; CHECK: ret void
define void @reassociated(ptr %a, double %x, double %y) {
  %s = fadd reassoc double %x, %y
  store double %s, ptr %a, align 8
  ret void
}
; CHECK-LABEL: define void @copied
; UDSM: call preserve_allcc
; UDSM: load double
; UDSM-COUNT-2: icmp eq i32
; CHECK: ret void
define void @copied(ptr %a, ptr %b) {
  %x = load double, ptr %b, align 8
  store double %x, ptr %a, align 8
  ret void
}
; Nothing is compared where no word can be UNWRITTEN: constants, known bits, converted integers and floats.
; CHECK-LABEL: define void @others
; UDSM-COUNT-6: and i8 %{{.*}}, 4
; UDSM-NOT: and i8
; CHECK-NOT: icmp eq
; CHECK: ret void
define void @others(ptr %a, ptr %b, ptr %c, ptr %d, ptr %e, ptr %f, i16 %x, float %y, i64 %z) {
  store double 1.0, ptr %a, align 8
  %wide = zext i16 %x to i64
  store i64 %wide, ptr %b, align 8
  %even = shl i64 %z, 33
  store i64 %even, ptr %c, align 8
  %number = sitofp i16 %x to double
  store double %number, ptr %d, align 8
  %long = fpext float %y to double
  store double %long, ptr %e, align 8
  store ptr null, ptr %f, align 8
  ret void
}
; CHECK-LABEL: define void @of_long
; UDSM: icmp eq i32
; UDSM-NOT: icmp eq i32
; CHECK: ret void
define void @of_long(ptr %a, i64 %x) {
  %number = sitofp i64 %x to double
  store double %number, ptr %a, align 8
  ret void
}
; All else is written: constants with the word, undefined values, narrow, wide, unaligned, vectors, volatile.
; CHECK-LABEL: define void @written
; CHECK-COUNT-9: and i8 %{{.*}}, 2
; CHECK-NOT: and i8
; CHECK: ret void
define void @written(ptr %a, ptr %b, ptr %c, ptr %d, ptr %e, ptr %f, ptr %g, ptr %h, ptr %i, i128 %x) {
  store i64 4294311925, ptr %a, align 8
  store i64 undef, ptr %b, align 8
  store i16 1, ptr %c, align 2
  store i128 %x, ptr %d, align 16
  store i64 1, ptr %e, align 4
  store <2 x i32> zeroinitializer, ptr %f, align 8
  store volatile i64 1, ptr %g, align 8
  store atomic i64 1, ptr %h monotonic, align 8
  store i48 1, ptr %i, align 8
  ret void
}
; To store says nothing about reading or writing the same bytes later.
; CHECK-LABEL: define i64 @read_later
; UDSM: and i8 %{{.*}}, 4
; UDSM: left:
; UDSM: and i8 %{{.*}}, 1
; UDSM: load i64, ptr %a
; CHECK: ret i64
define i64 @read_later(ptr %a, i1 %c) {
  store i64 1, ptr %a, align 8
  br i1 %c, label %left, label %right
left:
  %x = load i64, ptr %a, align 8
  ret i64 %x
right:
  ret i64 0
}
; CHECK-LABEL: define void @written_later
; UDSM: and i8 %{{.*}}, 4
; UDSM: left:
; UDSM: and i8 %{{.*}}, 2
; CHECK: store i8 2
define void @written_later(ptr %a, i1 %c) {
  store i64 1, ptr %a, align 8
  br i1 %c, label %left, label %right
left:
  store i8 2, ptr %a, align 8
  ret void
right:
  ret void
}
; A check serves later stores, which compare alone; after one to write they do not. A kill ends it.
; CHECK-LABEL: define void @stored_later
; UDSM: and i8 %{{.*}}, 4
; UDSM: left:
; UDSM-NOT: and i8
; UDSM: icmp eq i32
; UDSM: store i32
; UDSM: call void @barrier()
; UDSM: and i8 %{{.*}}, 4
; CHECK: ret void
define void @stored_later(ptr %a, i1 %c, i32 %x) {
  store i32 1, ptr %a, align 4
  br i1 %c, label %left, label %right
left:
  store i32 %x, ptr %a, align 4
  call void @barrier()
  store i32 2, ptr %a, align 4
  ret void
right:
  ret void
}
; CHECK-LABEL: define void @stored_after_write
; CHECK: and i8 %{{.*}}, 2
; CHECK-NOT: and i8
; CHECK-NOT: icmp eq
; CHECK: ret void
define void @stored_after_write(ptr %a, i1 %c, i32 %x, <2 x i32> %y) {
  store <2 x i32> %y, ptr %a, align 8
  br i1 %c, label %left, label %right
left:
  store i32 %x, ptr %a, align 4
  ret void
right:
  ret void
}
; Where the granule is read too, before or after, the runtime fetches it: one check, to write, and no comparison.
; CHECK-LABEL: define i64 @exchange
; CHECK: and i8 %{{.*}}, 2
; CHECK-NOT: and i8
; CHECK-NOT: icmp eq
; CHECK: ret i64
define i64 @exchange(ptr %a, i64 %x) {
  %old = load i64, ptr %a, align 8
  store i64 %x, ptr %a, align 8
  ret i64 %old
}
; CHECK-LABEL: define i64 @next_to_read
; UDSM: and i8 %{{.*}}, 2
; UDSM: store i64 %x, ptr %a
; UDSM: and i8 %{{.*}}, 1
; CHECK-NOT: icmp eq
; CHECK: ret i64
define i64 @next_to_read(ptr %a, i64 %x) {
  store i64 %x, ptr %a, align 8
  %b = getelementptr i64, ptr %a, i64 2
  %next = load i64, ptr %b, align 8
  ret i64 %next
}
; CHECK-LABEL: define void @after_read
; UDSM: left:
; UDSM: and i8 %{{.*}}, 2
; CHECK-NOT: icmp eq
; CHECK: ret void
define void @after_read(ptr %a, i64 %x) {
  %old = load i64, ptr %a, align 8
  %c = icmp sgt i64 %old, 0
  br i1 %c, label %left, label %right
left:
  store i64 %x, ptr %a, align 8
  ret void
right:
  ret void
}
; Neighbours have one check. In two granules, both are opened.
; CHECK-LABEL: define void @neighbours
; UDSM: %[[LAST:.*]] = add i64 %[[FIRST:.*]], 15
; UDSM: and i8 %{{.*}}, 4
; UDSM: call preserve_allcc void %{{.*}}(i64 %[[FIRST]])
; UDSM: call preserve_allcc void %{{.*}}(i64 %[[LAST]])
; CHECK: store i64 1
; CHECK-NOT: preserve_allcc
; CHECK: ret void
define void @neighbours(ptr %a) {
  %b = getelementptr i8, ptr %a, i64 8
  store i64 1, ptr %a, align 8
  store i64 2, ptr %b, align 8
  ret void
}
