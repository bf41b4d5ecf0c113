; Functions that call a changed one, and calls of them, promise nothing about memory any more; others keep
; their attributes. Each module has a note.
; CHECK: @musubi.note = private constant {{.*}} <{ i32 7, i32 19, i32 1, [7 x i8] c"Musubi\00", [1 x i8] {{.*}}, i32 2, i32 12, i32 1, i32 0, {{.*}}section ".note.musubi.checks", align 4
; CHECK-NOT: memory(argmem: read)
; CHECK: define double @sum(ptr %a, i64 %n) {
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
; CHECK: define double @caller(ptr %a) {
; CHECK: call double @sum(ptr %a, i64 9){{$}}
define double @caller(ptr %a) memory(argmem: read) {
  %x = call double @sum(ptr %a, i64 9) memory(argmem: read)
  ret double %x
}
; CHECK: define double @other(ptr %a) #[[KEPT:[0-9]+]]
define double @other(ptr %a) memory(argmem: write) {
  ret double 0.0
}
; Without optimisation nothing is changed.
; CHECK-LABEL: define double @plain
; CHECK-NOT: preserve_allcc
define double @plain(ptr %a, i64 %n) noinline optnone {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret double %x
}
