; Threads may meet in the loop: its ranges stay where they are, and single accesses go to the pages.
declare void @barrier()
declare void @quiet() nosync
declare double @exp(double)
; CHECK: read left to page faults: a call of barrier in the loop, which may synchronise
define double @call(ptr %a, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p
  call void @barrier()
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret double %x
}
; CHECK: read left to page faults: an atomic or volatile access in the loop
define double @atomic(ptr %a, ptr %flag, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p
  %f = load atomic i32, ptr %flag acquire, align 4
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret double %x
}
; CHECK: read left to page faults: assembly in the loop
define double @assembly(ptr %a, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p
  call void asm sideeffect "mfence", "~{memory}"()
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret double %x
}
; Functions known to be quiet: by their attribute, by the library, by their bodies, also recursive ones.
; CHECK: read before the loop: (8 * (1 umax %n)) bytes at %a + 0
define double @free(ptr %a, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p
  call void @quiet()
  %e = call double @exp(double %x)
  call void @recursive(i64 %i)
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret double %x
}
define internal void @recursive(i64 %n) noinline {
  %zero = icmp eq i64 %n, 0
  br i1 %zero, label %done, label %again
again:
  %less = sub i64 %n, 1
  call void @recursive(i64 %less)
  br label %done
done:
  ret void
}
; CHECK: read left to page faults: a call of meets in the loop, which may synchronise
define double @through_another(ptr %a, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %p
  call void @meets()
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret double %x
}
define internal void @meets() noinline {
  call void @barrier()
  ret void
}
