; Memory of large arrays, kept when an array is gone. What it does and why stands in buffers.py.
;
; A block is mapped memory: a page for its size (at its beginning), then the data, aligned to 2 MiB.

%Kept = type { ptr, i64 }  ; data, bytes that fit

@kept = internal global [64 x %Kept] zeroinitializer  ; the oldest first
@count = internal global i64 0
@bytes = internal global i64 0          ; of all kept blocks
@bound = internal global i64 0          ; how many of them there may be
@busy = internal global i32 0           ; lock of the above (atomic)
@np_large = global ptr null             ; the function for what `empty` does not do itself
@np_type = global ptr null              ; numpy.ndarray
@np_dtype = global ptr null             ; numpy.dtype
@np_new = global ptr null               ; PyArray_NewFromDescr

declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)
declare ptr @PyLong_FromLongLong(i64)
declare i64 @PyLong_AsLongLong(ptr)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare i32 @PyObject_IsInstance(ptr, ptr)
declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
$PAUSE_DECLARATION

; Hardly ever contended: Python's own lock is usually held by whoever makes and frees arrays.
define internal void @lock() {
  br label %try
try:
  %before = atomicrmw xchg ptr @busy, i32 1 acquire
  %is.mine = icmp eq i32 %before, 0
  br i1 %is.mine, label %out, label %wait
wait:
  $PAUSE
  br label %try
out:
  ret void
}

define internal void @unlock() {
  store atomic i32 0, ptr @busy release, align 4
  ret void
}

define internal i64 @capacity(ptr %data) {
  %at = getelementptr i8, ptr %data, i64 -$PAGE
  %capacity = load i64, ptr %at
  ret i64 %capacity
}

define internal void @unmap(ptr %data) {
  %capacity = call i64 @capacity(ptr %data)
  %start = getelementptr i8, ptr %data, i64 -$PAGE
  %size = add i64 %capacity, $PAGE
  call i32 @munmap(ptr %start, i64 %size)
  ret void
}

; Map a new block with so many bytes, a multiple of the page size; null if there is no memory.
define internal ptr @map(i64 %capacity) {
  %is.below = icmp ult i64 %capacity, 2097152  ; no huge page fits
  %span = select i1 %is.below, i64 $PAGE, i64 $SPAN
  %size = add i64 %capacity, %span  ; a page in front, and 2 MiB to align within
  %start = call ptr @mmap(ptr null, i64 %size, i32 3, i32 $MAP, i32 -1, i64 0)
  %first = ptrtoint ptr %start to i64
  %is.failed = icmp eq i64 %first, -1
  br i1 %is.failed, label %failed, label %align
failed:
  ret ptr null
align:
  %past = add i64 %first, $SPAN
  %beyond = sub i64 %past, 1
  %at.huge = and i64 %beyond, -2097152
  %at.page = add i64 %first, $PAGE
  %aligned = select i1 %is.below, i64 %at.page, i64 %at.huge
  %data = inttoptr i64 %aligned to ptr
  %front = sub i64 %aligned, $PAGE
  %surplus = sub i64 %front, %first
  %is.some = icmp ne i64 %surplus, 0
  br i1 %is.some, label %trim.front, label %back
trim.front:
  call i32 @munmap(ptr %start, i64 %surplus)
  br label %back
back:
  %end = add i64 %aligned, %capacity
  %last = add i64 %first, %size
  %rest = sub i64 %last, %end
  %is.rest = icmp ne i64 %rest, 0
  br i1 %is.rest, label %trim.back, label %advise
trim.back:
  %end.at = inttoptr i64 %end to ptr
  call i32 @munmap(ptr %end.at, i64 %rest)
  br label %advise
advise:
  $ADVISE
  %front.at = inttoptr i64 %front to ptr
  store i64 %capacity, ptr %front.at
  ret ptr %data
}

; Take the kept block at a place out. The lock is held.
define internal ptr @take(i64 %place) {
  %at = getelementptr %Kept, ptr @kept, i64 %place
  %data = load ptr, ptr %at
  %capacity.at = getelementptr %Kept, ptr %at, i32 0, i32 1
  %capacity = load i64, ptr %capacity.at
  %bytes = load i64, ptr @bytes
  %fewer.bytes = sub i64 %bytes, %capacity
  store i64 %fewer.bytes, ptr @bytes
  %count = load i64, ptr @count
  %fewer = sub i64 %count, 1
  store i64 %fewer, ptr @count
  %next.at = getelementptr %Kept, ptr %at, i64 1
  %behind = sub i64 %fewer, %place
  %size = mul i64 %behind, 16
  call void @llvm.memmove.p0.p0.i64(ptr %at, ptr %next.at, i64 %size, i1 false)
  ret ptr %data
}

; Give kept blocks back to the system, the oldest first, until the bound holds and, if `more` is
; not 0, there is room for a block of so many bytes.
define internal void @trim(i64 %more) {
  br label %look
look:
  call void @lock()
  %count = load i64, ptr @count
  %is.empty = icmp eq i64 %count, 0
  br i1 %is.empty, label %out, label %compare
compare:
  %bytes = load i64, ptr @bytes
  %with = add i64 %bytes, %more
  %bound = load i64, ptr @bound
  %is.over = icmp sgt i64 %with, %bound
  %is.another = icmp ne i64 %more, 0
  %another = zext i1 %is.another to i64
  %blocks = add i64 %count, %another
  %is.full = icmp sgt i64 %blocks, 64
  %is.much = or i1 %is.over, %is.full
  br i1 %is.much, label %drop, label %out
drop:
  %data = call ptr @take(i64 0)
  call void @unlock()
  call void @unmap(ptr %data)
  br label %look
out:
  call void @unlock()
  ret void
}

; --- NumPy's memory handler -----------------------------------------------------------------------

define ptr @handler_malloc(ptr %unused, i64 %size) {
  %is.huge = icmp ugt i64 %size, 281474976710656
  br i1 %is.huge, label %none, label %round
none:
  ret ptr null
round:
  %past = add i64 %size, $PAGE
  %beyond = sub i64 %past, 1
  %pages = and i64 %beyond, -$PAGE
  %is.zero = icmp eq i64 %pages, 0
  %need = select i1 %is.zero, i64 $PAGE, i64 %pages
  %eighth = lshr i64 %need, 3
  %most = add i64 %need, %eighth
  call void @lock()
  %count = load i64, ptr @count
  br label %look
look:  ; for the smallest that is large enough and not much larger
  %place = phi i64 [ 0, %round ], [ %place.next, %next ]
  %best = phi i64 [ -1, %round ], [ %best.next, %next ]
  %least = phi i64 [ %most, %round ], [ %least.next, %next ]
  %is.end = icmp sge i64 %place, %count
  br i1 %is.end, label %found, label %next
next:
  %at = getelementptr %Kept, ptr @kept, i64 %place, i32 1
  %capacity = load i64, ptr %at
  %is.enough = icmp sge i64 %capacity, %need
  %is.less = icmp sle i64 %capacity, %least
  %is.better = and i1 %is.enough, %is.less
  %best.next = select i1 %is.better, i64 %place, i64 %best
  %least.next = select i1 %is.better, i64 %capacity, i64 %least
  %place.next = add i64 %place, 1
  br label %look
found:
  %is.none = icmp slt i64 %best, 0
  br i1 %is.none, label %fresh, label %kept
kept:
  %data = call ptr @take(i64 %best)
  call void @unlock()
  ret ptr %data
fresh:
  call void @unlock()
  %new = call ptr @map(i64 %need)
  %is.failed = icmp eq ptr %new, null
  br i1 %is.failed, label %again, label %done
again:  ; what is kept may be what lacks
  call void @trim(i64 281474976710656)
  %newer = call ptr @map(i64 %need)
  ret ptr %newer
done:
  ret ptr %new
}

define void @handler_free(ptr %unused, ptr %data, i64 %size) {
  %is.none = icmp eq ptr %data, null
  br i1 %is.none, label %out, label %some
some:
  %capacity = call i64 @capacity(ptr %data)
  %most = load i64, ptr @bound
  %is.too.much = icmp sgt i64 %capacity, %most  ; would drive all others out, to no avail
  br i1 %is.too.much, label %unmap, label %room
unmap:
  call void @unmap(ptr %data)
  ret void
room:
  call void @trim(i64 %capacity)
  %is.much = icmp sge i64 %capacity, $FREE_FROM
  br i1 %is.much, label %mark, label %enter
mark:
  $FREE
  br label %enter
enter:
  call void @lock()
  %bytes = load i64, ptr @bytes
  %with = add i64 %bytes, %capacity
  %bound = load i64, ptr @bound
  %is.within = icmp sle i64 %with, %bound
  %count = load i64, ptr @count
  %is.room = icmp slt i64 %count, 64
  %is.kept = and i1 %is.within, %is.room
  br i1 %is.kept, label %keep, label %drop
keep:
  store i64 %with, ptr @bytes
  %more = add i64 %count, 1
  store i64 %more, ptr @count
  %at = getelementptr %Kept, ptr @kept, i64 %count
  store ptr %data, ptr %at
  %capacity.at = getelementptr %Kept, ptr %at, i32 0, i32 1
  store i64 %capacity, ptr %capacity.at
  call void @unlock()
  ret void
drop:
  call void @unlock()
  call void @unmap(ptr %data)
  ret void
out:
  ret void
}

define internal ptr @handler_calloc(ptr %unused, i64 %count, i64 %each) {
  %product = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %count, i64 %each)
  %size = extractvalue { i64, i1 } %product, 0
  %is.huge = extractvalue { i64, i1 } %product, 1
  br i1 %is.huge, label %none, label %make
none:
  ret ptr null
make:
  %data = call ptr @handler_malloc(ptr null, i64 %size)
  %is.failed = icmp eq ptr %data, null
  br i1 %is.failed, label %none, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %data, i8 0, i64 %size, i1 false)
  ret ptr %data
}

declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)

define internal ptr @handler_realloc(ptr %unused, ptr %data, i64 %size) {
  %is.none = icmp eq ptr %data, null
  br i1 %is.none, label %make, label %some
some:
  %capacity = call i64 @capacity(ptr %data)
  %is.enough = icmp ule i64 %size, %capacity
  br i1 %is.enough, label %same, label %make
same:
  ret ptr %data
make:
  %old = phi i64 [ 0, %0 ], [ %capacity, %some ]
  %new = call ptr @handler_malloc(ptr null, i64 %size)
  %is.failed = icmp eq ptr %new, null
  br i1 %is.failed, label %out, label %copy
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %data, i64 %old, i1 false)
  call void @handler_free(ptr null, ptr %data, i64 %old)
  br label %out
out:
  ret ptr %new
}

; PyDataMem_Handler of NumPy's C API: a name, version 1, and the allocator.
@handler = global { [127 x i8], i8, ptr, ptr, ptr, ptr, ptr } {
  [127 x i8] c"lanewise$NAME_END", i8 1, ptr null,
  ptr @handler_malloc, ptr @handler_calloc, ptr @handler_realloc, ptr @handler_free }

; --- called by Python -----------------------------------------------------------------------------

; empty(shape, dtype): small arrays right here, the others by the function `np_large`.
define ptr @empty(ptr %self, ptr %arguments, i64 %count) {
  %sizes = alloca [64 x i64]
  %is.two = icmp eq i64 %count, 2
  br i1 %is.two, label %parse, label %other
parse:
  %shape = load ptr, ptr %arguments
  %dtype.at = getelementptr ptr, ptr %arguments, i64 1
  %dtype = load ptr, ptr %dtype.at
  %type = load ptr, ptr @np_dtype
  %known = call i32 @PyObject_IsInstance(ptr %dtype, ptr %type)
  %is.dtype = icmp eq i32 %known, 1
  br i1 %is.dtype, label %length, label %clear
length:
  %rank = call i64 @PyTuple_Size(ptr %shape)
  %is.tuple = icmp ult i64 %rank, 65  ; -1 is an error, as a large unsigned number
  br i1 %is.tuple, label %look, label %clear
look:
  %axis = phi i64 [ 0, %length ], [ %axis.next, %small ]
  %product = phi i64 [ 1, %length ], [ %product.next, %small ]
  %is.end = icmp eq i64 %axis, %rank
  br i1 %is.end, label %make, label %one
one:
  %item = call ptr @PyTuple_GetItem(ptr %shape, i64 %axis)
  %size = call i64 @PyLong_AsLongLong(ptr %item)
  %is.modest = icmp ult i64 %size, 16384
  br i1 %is.modest, label %multiply, label %clear
multiply:
  %product.next = mul i64 %product, %size
  %is.small = icmp ult i64 %product.next, 16384
  br i1 %is.small, label %small, label %other
small:
  %size.at = getelementptr i64, ptr %sizes, i64 %axis
  store i64 %size, ptr %size.at
  %axis.next = add i64 %axis, 1
  br label %look
make:
  call void @Py_IncRef(ptr %dtype)  ; the array takes it
  %new = load ptr, ptr @np_new
  %array = load ptr, ptr @np_type
  %rank.int = trunc i64 %rank to i32
  %result = call ptr %new(ptr %array, ptr %dtype, i32 %rank.int, ptr %sizes, ptr null, ptr null,
                          i32 0, ptr null)
  ret ptr %result
clear:
  call void @PyErr_Clear()
  br label %other
other:
  %large = load ptr, ptr @np_large
  %made = call ptr @PyObject_Vectorcall(ptr %large, ptr %arguments, i64 %count, ptr null)
  ret ptr %made
}

; limit(bytes): keep at most so many; returns how many are kept now.
define ptr @limit(ptr %self, ptr %arguments, i64 %count) {
  %object = load ptr, ptr %arguments
  %bound = call i64 @PyLong_AsLongLong(ptr %object)
  call void @lock()
  store i64 %bound, ptr @bound
  call void @unlock()
  call void @trim(i64 0)
  %bytes = load i64, ptr @bytes
  %result = call ptr @PyLong_FromLongLong(i64 %bytes)
  ret ptr %result
}

; forked(): the process is a new one. If a thread that it does not have was changing what is kept (which
; takes a Python without its global lock), nothing of that can be relied on, so it is forgotten.
define ptr @forked(ptr %self, ptr %arguments, i64 %count) {
  %busy = load atomic i32, ptr @busy seq_cst, align 4
  %is.torn = icmp ne i32 %busy, 0
  br i1 %is.torn, label %forget, label %out
forget:
  store i64 0, ptr @count
  store i64 0, ptr @bytes
  call void @unlock()
  br label %out
out:
  %bytes = load i64, ptr @bytes
  %result = call ptr @PyLong_FromLongLong(i64 %bytes)
  ret ptr %result
}
