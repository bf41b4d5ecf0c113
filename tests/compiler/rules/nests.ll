; A triangle: the hull of its rows, if any row has an element.
; CHECK: read before the loop: {{.*}} bytes at %a + {{.*}}, if its conditions hold
; CHECK: define double @triangle
; CHECK: icmp slt
define double @triangle(ptr %a, i32 %n, i64 %m) {
entry:
  %any = icmp sgt i64 %m, 0
  br i1 %any, label %outer, label %done
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %outer.latch ]
  %n64 = sext i32 %n to i64
  %row = icmp slt i64 %i, %n64
  br i1 %row, label %inner, label %outer.latch
inner:
  %j = phi i64 [ %i, %outer ], [ %j.next, %inner ]
  %p = getelementptr double, ptr %a, i64 %j
  %x = load double, ptr %p
  %j.next = add nuw nsw i64 %j, 1
  %j.more = icmp slt i64 %j.next, %n64
  br i1 %j.more, label %inner, label %outer.latch
outer.latch:
  %i.next = add nuw nsw i64 %i, 1
  %i.more = icmp slt i64 %i.next, %m
  br i1 %i.more, label %outer, label %done
done:
  ret double 0.0
}
