; MODES: hint adsm udsm
; Rows of %row elements, apart by a number known at run time. Where they are dense, their hull is tested before
; both loops, otherwise they are, in a loop of their own. Nothing is left in the program's loops.
; CHECK: write before the loop: {{.*}}, or row by row where these are far apart
; CHECK-LABEL: define void @rows
; CHECK: icmp ule
; CHECK: br i1
; CHECK: phi i64 [ 0, %
; CHECK: mul i64 %{{.*}}, %
; CHECK: call preserve_allcc
; CHECK: pass.loop:
; CHECK-NOT: call preserve_allcc
; CHECK: ret void
define void @rows(ptr %a, i64 %rows, i64 %row, i64 %stride, i64 %passes) {
entry:
  %any.row = icmp sgt i64 %rows, 0
  %any.element = icmp sgt i64 %row, 0
  %any = and i1 %any.row, %any.element
  br i1 %any, label %pass.loop, label %done
pass.loop:
  %pass = phi i64 [ 0, %entry ], [ %pass.next, %pass.latch ]
  br label %outer
outer:
  %i = phi i64 [ 0, %pass.loop ], [ %i.next, %outer.latch ]
  %at = mul nsw i64 %i, %stride
  %start = getelementptr inbounds double, ptr %a, i64 %at
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j.next, %inner ]
  %p = getelementptr inbounds double, ptr %start, i64 %j
  %x = load double, ptr %p, align 8
  %y = fadd double %x, 1.0
  store double %y, ptr %p, align 8
  %j.next = add nuw nsw i64 %j, 1
  %j.more = icmp slt i64 %j.next, %row
  br i1 %j.more, label %inner, label %outer.latch
outer.latch:
  %i.next = add nuw nsw i64 %i, 1
  %i.more = icmp slt i64 %i.next, %rows
  br i1 %i.more, label %outer, label %pass.latch
pass.latch:
  %pass.next = add nuw nsw i64 %pass, 1
  %pass.more = icmp slt i64 %pass.next, %passes
  br i1 %pass.more, label %pass.loop, label %done
done:
  ret void
}
; A triangle of the first ends: in each iteration of the outer loop both ends of a column move by 8 bytes, so
; that one hull holds all columns.
; CHECK-LABEL: define double @columns
; CHECK: call preserve_allcc
; CHECK: outer:
; CHECK-NOT: call preserve_allcc
; CHECK: ret double
define double @columns(ptr %a, i64 %rows, i64 %stride, i64 %columns) {
entry:
  %any.row = icmp sgt i64 %rows, 0
  %any.column = icmp sgt i64 %columns, 0
  %any = and i1 %any.row, %any.column
  br i1 %any, label %outer, label %done
outer:
  %j = phi i64 [ 0, %entry ], [ %j.next, %outer.latch ]
  %sum.outer = phi double [ 0.0, %entry ], [ %sum.next, %outer.latch ]
  br label %inner
inner:
  %i = phi i64 [ 0, %outer ], [ %i.next, %inner ]
  %sum = phi double [ %sum.outer, %outer ], [ %sum.next, %inner ]
  %at = mul nsw i64 %i, %stride
  %index = add nsw i64 %at, %j
  %p = getelementptr inbounds double, ptr %a, i64 %index
  %x = load double, ptr %p, align 8
  %sum.next = fadd double %sum, %x
  %i.next = add nuw nsw i64 %i, 1
  %i.more = icmp slt i64 %i.next, %rows
  br i1 %i.more, label %inner, label %outer.latch
outer.latch:
  %j.next = add nuw nsw i64 %j, 1
  %j.more = icmp slt i64 %j.next, %columns
  br i1 %j.more, label %outer, label %done
done:
  %result = phi double [ 0.0, %entry ], [ %sum.next, %outer.latch ]
  ret double %result
}
