; Kernels that go on after a failure. What this is for stands in mend.py.
;
; Both functions have a kernel's own signature, so that the pool runs them. The last word of the
; context points to what they know, numbers of 64 bits: address of the kernel; first example; lanes;
; room in the list, how much of it is taken (atomic); where in the scratch a kernel that refills its
; lanes notes the examples at hand, else -1; address of the list.

define internal ptr @known(ptr %context) {
  %size.at = getelementptr i64, ptr %context, i64 3
  %size = load i64, ptr %size.at
  %behind = getelementptr i8, ptr %context, i64 %size
  %last = getelementptr i8, ptr %behind, i64 -8
  %known = load ptr, ptr %last
  ret ptr %known
}

; The kernel for a range of examples, counted from the first one. The examples of a block that fails
; go to the list, and those behind it are done. Once the list is full, returns what the kernel did.
define i64 @go_on(ptr %context, i64 %begin, i64 %end, ptr %scratch) {
  %known = call ptr @known(ptr %context)
  %kernel = load ptr, ptr %known
  %first.at = getelementptr i64, ptr %known, i64 1
  %first = load i64, ptr %first.at
  %lanes.at = getelementptr i64, ptr %known, i64 2
  %lanes = load i64, ptr %lanes.at
  %room.at = getelementptr i64, ptr %known, i64 3
  %room = load i64, ptr %room.at
  %taken.at = getelementptr i64, ptr %known, i64 4
  %notes.at = getelementptr i64, ptr %known, i64 5
  %notes = load i64, ptr %notes.at
  %list.at = getelementptr i64, ptr %known, i64 6
  %list = load ptr, ptr %list.at
  %refills = icmp sge i64 %notes, 0
  %noted = getelementptr i8, ptr %scratch, i64 %notes
  %start = add i64 %begin, %first
  %stop = add i64 %end, %first
  br label %turn
turn:
  %at = phi i64 [ %start, %0 ], [ %next, %on ]
  %code = call i64 %kernel(ptr %context, i64 %at, i64 %stop, ptr %scratch)
  %low = and i64 %code, 1
  %is.failed = icmp ne i64 %low, 0
  br i1 %is.failed, label %failed, label %out
failed:
  %place = atomicrmw add ptr %taken.at, i64 %lanes seq_cst
  %behind = add i64 %place, %lanes
  %is.full = icmp sgt i64 %behind, %room
  br i1 %is.full, label %out, label %where
out:
  ret i64 %code
where:
  %block = ashr i64 %code, 2
  %beyond = add i64 %block, %lanes
  %entries = getelementptr i64, ptr %list, i64 %place
  br i1 %refills, label %from.notes, label %list.them
from.notes:
  %resume.at = getelementptr i64, ptr %noted, i64 %lanes
  %resume = load i64, ptr %resume.at
  br label %list.them
list.them:
  %next = phi i64 [ %beyond, %where ], [ %resume, %from.notes ]
  br label %each
each:
  %lane = phi i64 [ 0, %list.them ], [ %lane.next, %put ]
  %counted = add i64 %block, %lane
  br i1 %refills, label %look, label %put
look:
  %note.at = getelementptr i64, ptr %noted, i64 %lane
  %note = load i64, ptr %note.at
  br label %put
put:
  %number = phi i64 [ %counted, %each ], [ %note, %look ]
  %entry = getelementptr i64, ptr %entries, i64 %lane
  store i64 %number, ptr %entry
  %lane.next = add i64 %lane, 1
  %is.last = icmp eq i64 %lane.next, %lanes
  br i1 %is.last, label %listed, label %each
listed:
  %is.enough = icmp eq i64 %behind, %room
  br i1 %is.enough, label %out, label %on
on:
  %is.more = icmp slt i64 %next, %stop
  br i1 %is.more, label %turn, label %done
done:
  ret i64 0
}

; The kernel for each of some examples of the list by itself. Those that do not fail are struck off.
define i64 @one_by_one(ptr %context, i64 %begin, i64 %end, ptr %scratch) {
  %known = call ptr @known(ptr %context)
  %kernel = load ptr, ptr %known
  %list.at = getelementptr i64, ptr %known, i64 6
  %list = load ptr, ptr %list.at
  br label %turn
turn:
  %at = phi i64 [ %begin, %0 ], [ %at.next, %on ]
  %is.end = icmp sge i64 %at, %end
  br i1 %is.end, label %done, label %one
one:
  %entry = getelementptr i64, ptr %list, i64 %at
  %number = load i64, ptr %entry
  %behind = add i64 %number, 1
  %code = call i64 %kernel(ptr %context, i64 %number, i64 %behind, ptr %scratch)
  %is.fine = icmp eq i64 %code, 0
  br i1 %is.fine, label %strike, label %not.fine
strike:
  store i64 -1, ptr %entry
  br label %on
not.fine:
  %low = and i64 %code, 1
  %is.stopped = icmp eq i64 %low, 0
  br i1 %is.stopped, label %stopped, label %on
stopped:
  ret i64 %code
on:
  %at.next = add i64 %at, 1
  br label %turn
done:
  ret i64 0
}
