; The threads of the pool, and what Python calls; the second half of pool.ll.

; --- workers ------------------------------------------------------------------------------------

; Take a job out of the list of open ones, if it is in it. The mutex is held.
define internal void @close_job(ptr %job) {
  br label %look
look:
  %at = phi ptr [ @jobs, %0 ], [ %link.at, %next ]
  %open = load ptr, ptr %at
  %is.end = icmp eq ptr %open, null
  br i1 %is.end, label %out, label %compare
compare:
  %link.at = getelementptr %Job, ptr %open, i32 0, i32 12
  %is.it = icmp eq ptr %open, %job
  br i1 %is.it, label %found, label %next
next:
  br label %look
found:
  %link = load ptr, ptr %link.at
  store ptr %link, ptr %at
  br label %out
out:
  ret void
}

define internal ptr @worker(ptr %unused) {
  call i32 @pthread_mutex_lock(ptr @mutex)
  br label %choose

choose:
  %scratch = phi ptr [ null, %0 ], [ %scratch, %slept ], [ %kept, %left ]
  %copy = phi ptr [ null, %0 ], [ %copy, %slept ], [ %copy.new, %left ]
  %workers = load i32, ptr @workers
  %target = load atomic i32, ptr @target monotonic, align 4
  %is.surplus = icmp sgt i32 %workers, %target
  br i1 %is.surplus, label %exit, label %look
exit:
  %fewer = sub i32 %workers, 1
  store i32 %fewer, ptr @workers
  call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @scratch_free(ptr %scratch)
  call void @scratch_free(ptr %copy)
  ret ptr null

look:
  %job = load ptr, ptr @jobs
  %is.idle = icmp eq ptr %job, null
  br i1 %is.idle, label %sleep, label %join
sleep:
  %sleeping = load i32, ptr @sleeping
  %more.sleep = add i32 %sleeping, 1
  store i32 %more.sleep, ptr @sleeping
  call i32 @pthread_cond_wait(ptr @work, ptr @mutex)
  br label %slept
slept:
  %sleepers = load i32, ptr @sleeping
  %fewer.sleep = sub i32 %sleepers, 1
  store i32 %fewer.sleep, ptr @sleeping
  br label %choose

join:
  %active.at = getelementptr %Job, ptr %job, i32 0, i32 3
  atomicrmw add ptr %active.at, i32 1 seq_cst
  %wanted.at = getelementptr %Job, ptr %job, i32 0, i32 4
  %wanted = load i32, ptr %wanted.at
  %fewer.wanted = sub i32 %wanted, 1
  store i32 %fewer.wanted, ptr %wanted.at
  %is.full = icmp eq i32 %fewer.wanted, 0
  br i1 %is.full, label %full, label %prepare
full:
  call void @close_job(ptr %job)
  br label %prepare
prepare:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  %given.at = getelementptr %Job, ptr %job, i32 0, i32 7
  %given = load ptr, ptr %given.at
  %size.at = getelementptr %Context, ptr %given, i32 0, i32 3
  %size = load i64, ptr %size.at
  %copy.new = call ptr @scratch_fit(ptr %copy, i64 %size)
  %bytes.at = getelementptr %Job, ptr %job, i32 0, i32 10
  %bytes = load i64, ptr %bytes.at
  %scratch.new = call ptr @scratch_fit(ptr %scratch, i64 %bytes)
  %no.copy = icmp eq ptr %copy.new, null
  %no.scratch = icmp eq ptr %scratch.new, null
  %is.poor = or i1 %no.copy, %no.scratch
  br i1 %is.poor, label %leave, label %run  ; without memory: the others do the work
run:
  call void @llvm.memcpy.p0.p0.i64(ptr %copy.new, ptr %given, i64 %size, i1 false)
  call void @run_chunks(ptr %job, ptr %copy.new, ptr %scratch.new)
  br label %leave
leave:
  %kept = call ptr @scratch_keep(ptr %scratch.new)
  call i32 @pthread_mutex_lock(ptr @mutex)
  %before = atomicrmw sub ptr %active.at, i32 1 seq_cst  ; from here on, the job may be gone
  %is.last = icmp eq i32 %before, 1
  br i1 %is.last, label %last, label %left
last:
  call i32 @pthread_cond_broadcast(ptr @done)
  br label %left
left:
  br label %choose
}

; Make threads until there are so many, as far as the system allows. The mutex is held.
define internal void @hire(i32 %wanted) {
  %attributes = alloca [128 x i8], align 16
  %all = alloca [128 x i8], align 16
  %before = alloca [128 x i8], align 16
  %thread = alloca i64
  %first = load i32, ptr @workers
  %is.enough = icmp sge i32 %first, %wanted
  br i1 %is.enough, label %out, label %prepare
prepare:
  call i32 @pthread_attr_init(ptr %attributes)
  call i32 @pthread_attr_setdetachstate(ptr %attributes, i32 $DETACHED)
  call i32 @pthread_attr_setstacksize(ptr %attributes, i64 $STACK)
  ; Signals are the main thread's, but for those that a fault raises in the thread itself.
  call i32 @sigfillset(ptr %all)
  $FAULTS
  call i32 @pthread_sigmask(i32 $SETMASK, ptr %all, ptr %before)
  br label %turn
turn:
  %workers = load i32, ptr @workers
  %is.full = icmp sge i32 %workers, %wanted
  br i1 %is.full, label %restore, label %create
create:
  %status = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @worker, ptr null)
  %is.made = icmp eq i32 %status, 0
  br i1 %is.made, label %count, label %restore
count:
  %more = add i32 %workers, 1
  store i32 %more, ptr @workers
  br label %turn
restore:
  call i32 @pthread_sigmask(i32 $SETMASK, ptr %before, ptr null)
  br label %out
out:
  ret void
}

; --- the calling thread -------------------------------------------------------------------------

; Open the job to workers and wake them. The number that may join is at most `helpers`.
define internal void @open_job(ptr %job, i32 %helpers) {
  call i32 @pthread_mutex_lock(ptr @mutex)
  call void @hire(i32 %helpers)
  %workers = load i32, ptr @workers
  %wanted = call i32 @llvm.smin.i32(i32 %workers, i32 %helpers)
  %is.alone = icmp sle i32 %wanted, 0
  br i1 %is.alone, label %out, label %end
end:
  %at = phi ptr [ @jobs, %0 ], [ %link.at, %behind ]
  %other = load ptr, ptr %at
  %is.end = icmp eq ptr %other, null
  br i1 %is.end, label %append, label %behind
behind:
  %link.at = getelementptr %Job, ptr %other, i32 0, i32 12
  br label %end
append:
  store ptr %job, ptr %at
  %wanted.at = getelementptr %Job, ptr %job, i32 0, i32 4
  store i32 %wanted, ptr %wanted.at
  %sleeping = load i32, ptr @sleeping
  %is.every = icmp sge i32 %wanted, %sleeping
  br i1 %is.every, label %every, label %some
every:
  call i32 @pthread_cond_broadcast(ptr @work)
  br label %out
some:
  %count = phi i32 [ %wanted, %append ], [ %fewer, %some ]
  call i32 @pthread_cond_signal(ptr @work)
  %fewer = sub i32 %count, 1
  %is.more = icmp sgt i32 %fewer, 0
  br i1 %is.more, label %some, label %out
out:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

; Wait a little, without sleeping, for the workers inside a job.
define internal void @spin(ptr %active.at) {
  %start = call i64 @now()
  %end = add i64 %start, $SPIN
  br label %turn
turn:
  %active = load atomic i32, ptr %active.at acquire, align 4
  %is.over = icmp eq i32 %active, 0
  br i1 %is.over, label %out, label %wait
wait:
  $PAUSE
  %now = call i64 @now()
  %is.late = icmp sge i64 %now, %end
  br i1 %is.late, label %out, label %turn
out:
  ret void
}

; Wait until no worker is inside the job, looking for signals meanwhile.
define internal void @wait_for_workers(ptr %job) {
  %time = alloca [2 x i64]
  %epoch.at = getelementptr %Job, ptr %job, i32 0, i32 16
  %began = load i64, ptr %epoch.at
  %epoch = load i64, ptr @epoch
  %is.parent = icmp eq i64 %began, %epoch
  br i1 %is.parent, label %close, label %return
close:
  call i32 @pthread_mutex_lock(ptr @mutex)
  call void @close_job(ptr %job)
  call i32 @pthread_mutex_unlock(ptr @mutex)
  %active.at = getelementptr %Job, ptr %job, i32 0, i32 3
  call void @spin(ptr %active.at)
  call i32 @pthread_mutex_lock(ptr @mutex)
  br label %look
look:
  %active = load atomic i32, ptr %active.at seq_cst, align 4
  %is.over = icmp eq i32 %active, 0
  br i1 %is.over, label %over, label %wait
wait:
  %now = call i64 @now()
  %wake = add i64 %now, $SIGNALS
  %seconds = sdiv i64 %wake, 1000000000
  %fraction = srem i64 %wake, 1000000000
  store i64 %seconds, ptr %time
  %fraction.at = getelementptr i64, ptr %time, i32 1
  store i64 %fraction, ptr %fraction.at
  call i32 @pthread_cond_timedwait(ptr @done, ptr @mutex, ptr %time)
  %main.at = getelementptr %Job, ptr %job, i32 0, i32 15
  %main = load i64, ptr %main.at
  %is.main = icmp ne i64 %main, 0
  br i1 %is.main, label %clock, label %look
clock:
  %next.at = getelementptr %Job, ptr %job, i32 0, i32 14
  %next = load i64, ptr %next.at
  %then = call i64 @now()
  %is.late = icmp sge i64 %then, %next
  %limit.at = getelementptr %Job, ptr %job, i32 0, i32 2
  %limit = load atomic i64, ptr %limit.at seq_cst, align 8
  %is.calm = icmp sge i64 %limit, 0  ; after an exception was raised, Python must not be called
  %is.due = and i1 %is.late, %is.calm
  br i1 %is.due, label %signals, label %look
signals:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @handle_signals(ptr %job)
  %epoch.after = load i64, ptr @epoch
  %is.child = icmp ne i64 %began, %epoch.after
  br i1 %is.child, label %return, label %again
again:
  call i32 @pthread_mutex_lock(ptr @mutex)
  br label %look
over:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %return
return:
  ret void
}

; run(kernel, context, total, grain, scratch_bytes), called by Python.
define ptr @run(ptr %self, ptr %arguments, i64 %count) {
  %code.at = alloca i64
  %is.five = icmp eq i64 %count, 5
  br i1 %is.five, label %parse, label %bad.arguments
bad.arguments:
  %value.error = load ptr, ptr @value_error
  call void @PyErr_SetString(ptr %value.error, ptr @arguments_text)
  ret ptr null
parse:
  %o0 = load ptr, ptr %arguments
  %a1 = getelementptr ptr, ptr %arguments, i64 1
  %o1 = load ptr, ptr %a1
  %a2 = getelementptr ptr, ptr %arguments, i64 2
  %o2 = load ptr, ptr %a2
  %a3 = getelementptr ptr, ptr %arguments, i64 3
  %o3 = load ptr, ptr %a3
  %a4 = getelementptr ptr, ptr %arguments, i64 4
  %o4 = load ptr, ptr %a4
  ; A conversion that fails gives -1 and sets the error, which `bad.range` leaves as it is.
  %i0 = call i64 @PyLong_AsLongLong(ptr %o0)
  %b0 = icmp sle i64 %i0, 0
  br i1 %b0, label %bad.range, label %p1
p1:
  %i1 = call i64 @PyLong_AsLongLong(ptr %o1)
  %b1 = icmp sle i64 %i1, 0
  br i1 %b1, label %bad.range, label %p2
p2:
  %total = call i64 @PyLong_AsLongLong(ptr %o2)
  %b2 = icmp slt i64 %total, 0
  %c2 = icmp sgt i64 %total, 281474976710656
  %d2 = or i1 %b2, %c2
  br i1 %d2, label %bad.range, label %p3
p3:
  %grain.given = call i64 @PyLong_AsLongLong(ptr %o3)
  %b3 = icmp sle i64 %grain.given, 0
  br i1 %b3, label %bad.range, label %p4
p4:
  %bytes = call i64 @PyLong_AsLongLong(ptr %o4)
  %b4 = icmp slt i64 %bytes, 0
  %c4 = icmp sgt i64 %bytes, 281474976710656
  %d4 = or i1 %b4, %c4
  br i1 %d4, label %bad.range, label %p5
p5:
  %kernel = inttoptr i64 %i0 to ptr
  %context = inttoptr i64 %i1 to ptr
  %size.at = getelementptr %Context, ptr %context, i32 0, i32 3
  %size = load i64, ptr %size.at
  %b5 = icmp slt i64 %size, 32
  br i1 %b5, label %bad.range, label %start
start:
  %status = call i32 @launch(ptr %kernel, ptr %context, i64 %total, i64 %grain.given, i64 %bytes,
                             ptr %code.at)
  %is.done = icmp eq i32 %status, 0
  br i1 %is.done, label %number, label %null
number:
  %code = load i64, ptr %code.at
  %result = call ptr @PyLong_FromLongLong(i64 %code)
  ret ptr %result
bad.range:
  %raised = call ptr @PyErr_Occurred()
  %is.raised = icmp ne ptr %raised, null
  br i1 %is.raised, label %null, label %range.error
range.error:
  %range = load ptr, ptr @value_error
  call void @PyErr_SetString(ptr %range, ptr @range_text)
  br label %null
null:
  ret ptr null
}

; Run a kernel, as `run`, for whoever checked the arguments and holds Python's lock. Returns 0 and
; leaves the code, or -1 with Python's error set.
define i32 @launch(ptr %kernel, ptr %context, i64 %total, i64 %grain.given, i64 %bytes,
                   ptr %code.out) {
  %job = alloca %Job, align 64
  %size.at = getelementptr %Context, ptr %context, i32 0, i32 3
  %size = load i64, ptr %size.at
  br label %fill
fill:
  %is.one = icmp sle i64 %total, %grain.given
  %grain = select i1 %is.one, i64 %total, i64 %grain.given
  store i64 0, ptr %job
  %limit.at = getelementptr %Job, ptr %job, i32 0, i32 2
  store i64 9223372036854775807, ptr %limit.at
  %active.at = getelementptr %Job, ptr %job, i32 0, i32 3
  store i32 0, ptr %active.at
  %wanted.at = getelementptr %Job, ptr %job, i32 0, i32 4
  store i32 0, ptr %wanted.at
  %kernel.at = getelementptr %Job, ptr %job, i32 0, i32 6
  store ptr %kernel, ptr %kernel.at
  %context.at = getelementptr %Job, ptr %job, i32 0, i32 7
  store ptr %context, ptr %context.at
  %total.at = getelementptr %Job, ptr %job, i32 0, i32 8
  store i64 %total, ptr %total.at
  %grain.at = getelementptr %Job, ptr %job, i32 0, i32 9
  store i64 %grain, ptr %grain.at
  %bytes.at = getelementptr %Job, ptr %job, i32 0, i32 10
  store i64 %bytes, ptr %bytes.at
  %code.at = getelementptr %Job, ptr %job, i32 0, i32 11
  store i64 0, ptr %code.at
  %link.at = getelementptr %Job, ptr %job, i32 0, i32 12
  store ptr null, ptr %link.at
  %next.at = getelementptr %Job, ptr %job, i32 0, i32 14
  store i64 0, ptr %next.at
  %ident = call i64 @PyThread_get_thread_ident()
  %main = load i64, ptr @main
  %is.main = icmp eq i64 %ident, %main
  %is.main.wide = zext i1 %is.main to i64
  %main.at = getelementptr %Job, ptr %job, i32 0, i32 15
  store i64 %is.main.wide, ptr %main.at
  %epoch = load i64, ptr @epoch
  %epoch.at = getelementptr %Job, ptr %job, i32 0, i32 16
  store i64 %epoch, ptr %epoch.at
  %own.at = getelementptr %Job, ptr %job, i32 0, i32 17
  store ptr %context, ptr %own.at

  ; Scratch, and for a job of several threads a context of the calling thread's own.
  %is.needy = icmp ne i64 %bytes, 0
  br i1 %is.needy, label %borrow, label %ready
borrow:
  %spare = atomicrmw xchg ptr @spare, ptr null seq_cst
  %borrowed = call ptr @scratch_fit(ptr %spare, i64 %bytes)
  %is.absent = icmp eq ptr %borrowed, null
  br i1 %is.absent, label %no.memory, label %ready
no.memory:
  call ptr @PyErr_NoMemory()
  br label %null
ready:
  %scratch = phi ptr [ null, %fill ], [ %borrowed, %borrow ]
  %thread = call ptr @PyEval_SaveThread()
  %thread.at = getelementptr %Job, ptr %job, i32 0, i32 13
  store ptr %thread, ptr %thread.at
  %target = load atomic i32, ptr @target monotonic, align 4
  %is.solo = icmp sle i32 %target, 0
  %is.inline = or i1 %is.one, %is.solo
  br i1 %is.inline, label %inline, label %parallel
inline:
  call void @run_chunks(ptr %job, ptr %context, ptr %scratch)
  br label %ran
parallel:
  %own = call ptr @scratch_fit(ptr null, i64 %size)
  %no.own = icmp eq ptr %own, null
  br i1 %no.own, label %inline, label %shared
shared:
  call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %context, i64 %size, i1 false)
  store ptr %own, ptr %own.at
  %rest = sub i64 %total, 1
  %others = sdiv i64 %rest, %grain
  %target.wide = sext i32 %target to i64
  %is.fewer = icmp slt i64 %others, %target.wide
  %helpers.wide = select i1 %is.fewer, i64 %others, i64 %target.wide
  %helpers = trunc i64 %helpers.wide to i32
  call void @open_job(ptr %job, i32 %helpers)
  call void @run_chunks(ptr %job, ptr %own, ptr %scratch)
  call void @wait_for_workers(ptr %job)
  call void @scratch_free(ptr %own)
  br label %ran

ran:
  %thread.now = load ptr, ptr %thread.at
  call void @PyEval_RestoreThread(ptr %thread.now)
  br i1 %is.needy, label %return.scratch, label %answer
return.scratch:
  %kept = call ptr @scratch_keep(ptr %scratch)
  %displaced = atomicrmw xchg ptr @spare, ptr %kept seq_cst
  call void @scratch_free(ptr %displaced)
  br label %answer
answer:
  %limit = load atomic i64, ptr %limit.at seq_cst, align 8
  %is.interrupted = icmp slt i64 %limit, 0
  br i1 %is.interrupted, label %null, label %number
number:
  %code = load i64, ptr %code.at
  store i64 %code, ptr %code.out
  ret i32 0
null:
  ret i32 -1
}

; resize(threads, keep): so many threads from now on, the calling one among them.
define ptr @resize(ptr %self, ptr %arguments, i64 %count) {
  %threads.object = load ptr, ptr %arguments
  %threads = call i64 @PyLong_AsLongLong(ptr %threads.object)
  %keep.at = getelementptr ptr, ptr %arguments, i64 1
  %keep.object = load ptr, ptr %keep.at
  %keep = call i64 @PyLong_AsLongLong(ptr %keep.object)
  %others = sub i64 %threads, 1
  %target = trunc i64 %others to i32
  call i32 @pthread_mutex_lock(ptr @mutex)
  store i64 %keep, ptr @keep
  store atomic i32 %target, ptr @target seq_cst, align 4
  call i32 @pthread_cond_broadcast(ptr @work)  ; surplus workers leave
  call i32 @pthread_mutex_unlock(ptr @mutex)
  %result = call ptr @PyLong_FromLongLong(i64 %threads)
  ret ptr %result
}

; reset(main): begin anew, in a process that has no workers. `main` is the main thread's identity.
define ptr @reset(ptr %self, ptr %arguments, i64 %count) {
  %attributes = alloca [128 x i8], align 16
  %main.object = load ptr, ptr %arguments
  %main = call i64 @PyLong_AsLongLong(ptr %main.object)
  store i64 %main, ptr @main
  %epoch = load i64, ptr @epoch
  %next = add i64 %epoch, 1
  store i64 %next, ptr @epoch
  store ptr null, ptr @jobs
  store i32 0, ptr @workers
  store i32 0, ptr @sleeping
  call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  call i32 @pthread_cond_init(ptr @work, ptr null)
  call i32 @pthread_condattr_init(ptr %attributes)
  call i32 @pthread_condattr_setclock(ptr %attributes, i32 $CLOCK)
  call i32 @pthread_cond_init(ptr @done, ptr %attributes)
  %result = call ptr @PyLong_FromLongLong(i64 %next)
  ret ptr %result
}

; census(): workers that live, sleeping ones in the upper half; for tests.
define ptr @census(ptr %self, ptr %arguments, i64 %count) {
  call i32 @pthread_mutex_lock(ptr @mutex)
  %workers = load i32, ptr @workers
  %sleeping = load i32, ptr @sleeping
  call i32 @pthread_mutex_unlock(ptr @mutex)
  %low = zext i32 %workers to i64
  %wide = zext i32 %sleeping to i64
  %high = shl i64 %wide, 32
  %both = or i64 %low, %high
  %result = call ptr @PyLong_FromLongLong(i64 %both)
  ret ptr %result
}
