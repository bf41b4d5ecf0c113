; Memory of one thread, and constants, need no test.
; CHECK-NOT: before the loop
; CHECK-NOT: left to page faults
; CHECK-LABEL: define double @locals
@table = internal constant [1024 x double] zeroinitializer
@own = internal thread_local global [1024 x double] zeroinitializer
declare ptr @llvm.threadlocal.address.p0(ptr)
define double @locals(i64 %n) {
entry:
  %local = alloca [1024 x double]
  %tls = call ptr @llvm.threadlocal.address.p0(ptr @own)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %local, i64 %i
  %x = load double, ptr %p
  %q = getelementptr double, ptr @table, i64 %i
  %y = load double, ptr %q
  %r = getelementptr double, ptr %tls, i64 %i
  store double %y, ptr %r
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, 1024
  br i1 %more, label %loop, label %done
done:
  ret double %x
}
