; A local variable whose address another thread may get is shared.
; CHECK: read before the loop: 8192 bytes at %local + 0
declare void @publish(ptr)
define double @escapes() {
entry:
  %local = alloca [1024 x double]
  call void @publish(ptr %local)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %local, i64 %i
  %x = load double, ptr %p
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, 1024
  br i1 %more, label %loop, label %done
done:
  ret double %x
}
