; The thread pool of compiled kernels. What it does and why stands in pool.py.
;
; Names are the C library's and Python's own. A function of the C library that a platform lacks is
; defined by pool.py to return 38 (ENOSYS): no thread is made then, and all work runs inline.

%Context = type { ptr, ptr, i64, i64 }  ; poll, job, first item of the chunk at hand, bytes in all

%Job = type {
  i64, [7 x i64],  ;  0 the first item that nobody has taken (atomic, a cache line of its own)
  i64,             ;  2 the first item of the lowest chunk that failed; -1 when interrupted (atomic)
  i32, i32,        ;  3 workers inside (atomic, changed under the mutex); 4 that may still join
  [6 x i64],
  ptr, ptr,        ;  6 kernel; 7 the caller's context
  i64, i64, i64,   ;  8 items; 9 items in a chunk; 10 bytes of scratch
  i64, ptr,        ; 11 code of the chunk that failed; 12 the next open job
  ptr, i64,        ; 13 Python's thread state; 14 when to look for signals next, 0: not yet known
  i64, i64,        ; 15 whether this is the main thread; 16 the epoch that the job began in
  ptr              ; 17 the context that the calling thread works with
}

@mutex = internal global [128 x i8] zeroinitializer, align 64   ; guards all below but the atomics
@work = internal global [128 x i8] zeroinitializer, align 64    ; condition: a job is open
@done = internal global [128 x i8] zeroinitializer, align 64    ; condition: a worker left a job
@jobs = internal global ptr null        ; open jobs, the oldest first
@target = internal global i32 0         ; workers allowed (atomic)
@workers = internal global i32 0        ; threads that live
@sleeping = internal global i32 0       ; of them, how many wait for work
@epoch = internal global i64 0          ; how many forks ago this pool's process began
@main = internal global i64 0           ; the thread that handles signals
@keep = internal global i64 0           ; scratch of at most so many bytes is kept between jobs
@spare = internal global ptr null       ; scratch of a calling thread that has returned (atomic)
@take = global ptr null                 ; ptr (ptr null, i64 bytes) for scratch of LARGE bytes and more,
@give = global ptr null                 ; void (ptr null, ptr block, i64 bytes); null: malloc and free
@value_error = global ptr null
@runtime_error = global ptr null

@arguments_text = internal constant [70 x i8] c"run takes five integers: kernel, context, total, grain, scratch bytes\00"
@range_text = internal constant [68 x i8] c"total, grain, scratch bytes or the size of the context out of range\00"
@fork_text = internal constant [66 x i8] c"the process was forked by a signal handler in the middle of a run\00"

declare ptr @malloc(i64)
declare void @free(ptr)
declare i32 @clock_gettime(i32, ptr)
declare i64 @GetTickCount64()
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_condattr_init(ptr)
declare i32 @pthread_condattr_setclock(ptr, i32)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_setdetachstate(ptr, i32)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sigdelset(ptr, i32)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyErr_Occurred()
declare ptr @PyErr_NoMemory()
declare void @PyErr_SetString(ptr, ptr)
declare i32 @PyErr_CheckSignals()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i64 @PyThread_get_thread_ident()
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @llvm.smin.i32(i32, i32)
$PAUSE_DECLARATION

; --- time and signals ---------------------------------------------------------------------------

define internal i64 @now() {
  %time = alloca [2 x i64]
  %status = call i32 @clock_gettime(i32 $CLOCK, ptr %time)
  %known = icmp eq i32 %status, 0
  br i1 %known, label %clock, label %ticks
clock:
  %seconds = load i64, ptr %time
  %fraction.at = getelementptr i64, ptr %time, i32 1
  %fraction = load i64, ptr %fraction.at
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %fraction
  ret i64 %now
ticks:
  %milliseconds = call i64 @GetTickCount64()
  %nanoseconds = mul i64 %milliseconds, 1000000
  ret i64 %nanoseconds
}

; Let Python's signal handlers run. The mutex must not be held: a handler may call anything.
define internal void @handle_signals(ptr %job) {
  %thread.at = getelementptr %Job, ptr %job, i32 0, i32 13
  %thread = load ptr, ptr %thread.at
  call void @PyEval_RestoreThread(ptr %thread)
  %raised = call i32 @PyErr_CheckSignals()
  %is.raised = icmp ne i32 %raised, 0
  br i1 %is.raised, label %interrupt, label %same.process
same.process:
  %epoch.at = getelementptr %Job, ptr %job, i32 0, i32 16
  %began = load i64, ptr %epoch.at
  %epoch = load i64, ptr @epoch
  %is.parent = icmp eq i64 %began, %epoch
  br i1 %is.parent, label %out, label %forked
forked:
  %error = load ptr, ptr @runtime_error
  call void @PyErr_SetString(ptr %error, ptr @fork_text)
  br label %interrupt
interrupt:
  %limit.at = getelementptr %Job, ptr %job, i32 0, i32 2
  store atomic i64 -1, ptr %limit.at seq_cst, align 8
  br label %out
out:
  %saved = call ptr @PyEval_SaveThread()
  store ptr %saved, ptr %thread.at
  %now = call i64 @now()
  %next = add i64 %now, $SIGNALS
  %next.at = getelementptr %Job, ptr %job, i32 0, i32 14
  store i64 %next, ptr %next.at
  ret void
}

; Called by kernels, and after each chunk: nonzero when the chunk at hand need not go on.
define internal i32 @poll(ptr %context) {
  %job.at = getelementptr %Context, ptr %context, i32 0, i32 1
  %job = load ptr, ptr %job.at
  %begin.at = getelementptr %Context, ptr %context, i32 0, i32 2
  %begin = load i64, ptr %begin.at
  %limit.at = getelementptr %Job, ptr %job, i32 0, i32 2
  %limit = load atomic i64, ptr %limit.at monotonic, align 8
  %is.needless = icmp slt i64 %limit, %begin
  br i1 %is.needless, label %leave, label %whose
whose:
  %own.at = getelementptr %Job, ptr %job, i32 0, i32 17
  %own = load ptr, ptr %own.at
  %is.caller = icmp eq ptr %own, %context
  br i1 %is.caller, label %caller, label %stay
caller:
  %main.at = getelementptr %Job, ptr %job, i32 0, i32 15
  %main = load i64, ptr %main.at
  %is.main = icmp ne i64 %main, 0
  br i1 %is.main, label %clock, label %stay
clock:
  %next.at = getelementptr %Job, ptr %job, i32 0, i32 14
  %next = load i64, ptr %next.at
  %now = call i64 @now()
  %is.first = icmp eq i64 %next, 0
  br i1 %is.first, label %first, label %later
first:
  %soon = add i64 %now, $SIGNALS
  store i64 %soon, ptr %next.at
  ret i32 0
later:
  %is.early = icmp slt i64 %now, %next
  br i1 %is.early, label %stay, label %signals
signals:
  call void @handle_signals(ptr %job)
  %after = load atomic i64, ptr %limit.at monotonic, align 8
  %is.over = icmp slt i64 %after, %begin
  br i1 %is.over, label %leave, label %stay
leave:
  ret i32 1
stay:
  ret i32 0
}

; --- scratch: 64-byte aligned; in front of it, where it was allocated and its size --------------

define internal void @scratch_free(ptr %scratch) {
  %is.none = icmp eq ptr %scratch, null
  br i1 %is.none, label %out, label %some
some:
  %block.at = getelementptr i8, ptr %scratch, i64 -16
  %block = load ptr, ptr %block.at
  %size.at = getelementptr i8, ptr %scratch, i64 -8
  %size = load i64, ptr %size.at
  %is.large = icmp sge i64 %size, $LARGE
  %give = load ptr, ptr @give
  %is.given = icmp ne ptr %give, null
  %is.other = and i1 %is.large, %is.given
  br i1 %is.other, label %other, label %usual
other:
  call void %give(ptr null, ptr %block, i64 %size)
  br label %out
usual:
  call void @free(ptr %block)
  br label %out
out:
  ret void
}

; Scratch of at least so many bytes in place of what there is; null if there is no memory.
define internal ptr @scratch_fit(ptr %scratch, i64 %bytes) {
  %is.none = icmp eq ptr %scratch, null
  br i1 %is.none, label %new, label %some
some:
  %size.at = getelementptr i8, ptr %scratch, i64 -8
  %size = load i64, ptr %size.at
  %is.enough = icmp sge i64 %size, %bytes
  br i1 %is.enough, label %same, label %small
same:
  ret ptr %scratch
small:
  call void @scratch_free(ptr %scratch)
  br label %new
new:
  %with.front = add i64 %bytes, 128
  %is.large = icmp sge i64 %bytes, $LARGE
  %take = load ptr, ptr @take
  %is.given = icmp ne ptr %take, null
  %is.other = and i1 %is.large, %is.given
  br i1 %is.other, label %other, label %usual
other:
  %taken = call ptr %take(ptr null, i64 %with.front)
  br label %made
usual:
  %allocated = call ptr @malloc(i64 %with.front)
  br label %made
made:
  %block = phi ptr [ %taken, %other ], [ %allocated, %usual ]
  %is.absent = icmp eq ptr %block, null
  br i1 %is.absent, label %absent, label %align
absent:
  ret ptr null
align:
  %address = ptrtoint ptr %block to i64
  %beyond = add i64 %address, 127
  %aligned = and i64 %beyond, -64
  %result = inttoptr i64 %aligned to ptr
  %new.block.at = getelementptr i8, ptr %result, i64 -16
  store ptr %block, ptr %new.block.at
  %new.size.at = getelementptr i8, ptr %result, i64 -8
  store i64 %bytes, ptr %new.size.at
  ret ptr %result
}

; The scratch if it is small enough to keep it, else null.
define internal ptr @scratch_keep(ptr %scratch) {
  %is.none = icmp eq ptr %scratch, null
  br i1 %is.none, label %none, label %some
some:
  %size.at = getelementptr i8, ptr %scratch, i64 -8
  %size = load i64, ptr %size.at
  %keep = load i64, ptr @keep
  %is.large = icmp sgt i64 %size, %keep
  br i1 %is.large, label %large, label %kept
large:
  call void @scratch_free(ptr %scratch)
  br label %none
none:
  ret ptr null
kept:
  ret ptr %scratch
}

; --- the work of a job --------------------------------------------------------------------------

; Note that the chunk from `begin` failed, unless a lower one did.
define internal void @fail(ptr %job, ptr %context, i64 %begin, i64 %code) {
  call i32 @pthread_mutex_lock(ptr @mutex)
  %limit.at = getelementptr %Job, ptr %job, i32 0, i32 2
  %limit = load atomic i64, ptr %limit.at seq_cst, align 8
  %is.lowest = icmp slt i64 %begin, %limit
  br i1 %is.lowest, label %lowest, label %out
lowest:
  ; Compare and exchange: an interrupt's -1, set without the mutex, must stay.
  %exchanged = cmpxchg ptr %limit.at, i64 %limit, i64 %begin seq_cst seq_cst
  %is.set = extractvalue { i64, i1 } %exchanged, 1
  br i1 %is.set, label %note, label %out
note:
  %code.at = getelementptr %Job, ptr %job, i32 0, i32 11
  store i64 %code, ptr %code.at
  %given.at = getelementptr %Job, ptr %job, i32 0, i32 7
  %given = load ptr, ptr %given.at
  %is.given = icmp eq ptr %given, %context
  br i1 %is.given, label %out, label %copy
copy:
  ; A worker that joins now may read what is being written: there is no chunk left for it to run.
  %size.at = getelementptr %Context, ptr %context, i32 0, i32 3
  %size = load i64, ptr %size.at
  %bytes = sub i64 %size, 32
  %from = getelementptr i8, ptr %context, i64 32
  %to = getelementptr i8, ptr %given, i64 32
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  br label %out
out:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

; Take chunks and run them until none is left that must run.
define internal void @run_chunks(ptr %job, ptr %context, ptr %scratch) {
  %kernel.at = getelementptr %Job, ptr %job, i32 0, i32 6
  %kernel = load ptr, ptr %kernel.at
  %total.at = getelementptr %Job, ptr %job, i32 0, i32 8
  %total = load i64, ptr %total.at
  %grain.at = getelementptr %Job, ptr %job, i32 0, i32 9
  %grain = load i64, ptr %grain.at
  %limit.at = getelementptr %Job, ptr %job, i32 0, i32 2
  store ptr @poll, ptr %context
  %job.at = getelementptr %Context, ptr %context, i32 0, i32 1
  store ptr %job, ptr %job.at
  %begin.at = getelementptr %Context, ptr %context, i32 0, i32 2
  br label %take
take:
  %begin = atomicrmw add ptr %job, i64 %grain seq_cst
  %is.left = icmp slt i64 %begin, %total
  br i1 %is.left, label %needed, label %out
needed:
  %limit = load atomic i64, ptr %limit.at seq_cst, align 8
  %is.needless = icmp slt i64 %limit, %begin
  br i1 %is.needless, label %out, label %run
run:
  store i64 %begin, ptr %begin.at
  %beyond = add i64 %begin, %grain
  %is.whole = icmp sle i64 %beyond, %total
  %end = select i1 %is.whole, i64 %beyond, i64 %total
  %code = call i64 %kernel(ptr %context, i64 %begin, i64 %end, ptr %scratch)
  %is.failed = icmp ne i64 %code, 0
  br i1 %is.failed, label %failed, label %next
failed:
  call void @fail(ptr %job, ptr %context, i64 %begin, i64 %code)
  br label %out
next:
  %is.last = icmp eq i64 %end, %total
  br i1 %is.last, label %out, label %ask
ask:
  %leave = call i32 @poll(ptr %context)
  %is.over = icmp ne i32 %leave, 0
  br i1 %is.over, label %out, label %take
out:
  ret void
}
