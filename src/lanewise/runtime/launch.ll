; A kernel called on arrays: what is in the way of a steady call. What it does stands in launch.py.
;
; The table of a kernel: numbers of 64 bits, see launch.py. Arrays are PyArrayObjects, whose fields
; are part of NumPy's stable ABI: data, rank, dimensions, strides, base, descriptor, flags.

@np_type = global ptr null              ; numpy.ndarray
@int_type = global ptr null             ; int
@empty = global ptr null                ; the function that makes large arrays
@type_error = global ptr null
@none = global ptr null
@np_new = global ptr null               ; PyArray_NewFromDescr
@np_transpose = global ptr null         ; PyArray_Transpose
@run = global ptr null                  ; the pool's `launch`

@unusable_text = internal constant [37 x i8] c"an array does not fit a compiled map\00"

declare ptr @PyTuple_New(i64)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PySequence_GetItem(ptr, i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyBytes_AsString(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare void @PyErr_SetString(ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal i1 @is_a(ptr %object, ptr %type) {
  %type.at = getelementptr i8, ptr %object, i64 $TYPE
  %found = load ptr, ptr %type.at
  %is = icmp eq ptr %found, %type
  ret i1 %is
}

; The size of a batch: what an int says, else that of the first mapped operand; -1 if neither is so.
define internal i64 @size_of(ptr %table, ptr %arguments) {
  %first = load ptr, ptr %arguments
  %int = load ptr, ptr @int_type
  %is.said = call i1 @is_a(ptr %first, ptr %int)
  br i1 %is.said, label %said, label %find.place
said:
  %number = call i64 @PyLong_AsLongLong(ptr %first)
  ret i64 %number
find.place:
  %place.at = getelementptr i64, ptr %table, i64 7
  %place = load i64, ptr %place.at
  %is.none = icmp slt i64 %place, 0
  br i1 %is.none, label %none, label %some
some:
  %behind = add i64 %place, 1
  %array.at = getelementptr ptr, ptr %arguments, i64 %behind
  %array = load ptr, ptr %array.at
  %np = load ptr, ptr @np_type
  %is.array = call i1 @is_a(ptr %array, ptr %np)
  br i1 %is.array, label %find.rank, label %none
find.rank:
  %rank.at = getelementptr i8, ptr %array, i64 $RANK
  %rank = load i32, ptr %rank.at
  %is.scalar = icmp eq i32 %rank, 0
  br i1 %is.scalar, label %none, label %read
read:
  %axis.at = getelementptr i64, ptr %table, i64 9
  %axis = load i64, ptr %axis.at
  %wide = sext i32 %rank to i64
  %is.within = icmp slt i64 %axis, %wide
  br i1 %is.within, label %find.size, label %none
find.size:
  %shape.at = getelementptr i8, ptr %array, i64 $SHAPE
  %shape = load ptr, ptr %shape.at
  %size.at = getelementptr i64, ptr %shape, i64 %axis
  %size = load i64, ptr %size.at
  ret i64 %size
none:
  ret i64 -1
}

; Whether an operand can be read as it is: of this type, without gaps or in columns, aligned, of this
; dtype, shape and size. The strides of columns go where it is said. The entry of the table: dtype,
; the mapped axis or -1, bytes from example to example in columns or 0, rank, shape.
define internal i1 @fits(ptr %array, ptr %entry, i64 %size, ptr %strides) {
  %np = load ptr, ptr @np_type
  %is.array = call i1 @is_a(ptr %array, ptr %np)
  br i1 %is.array, label %find.flags, label %no
find.flags:
  %step.at = getelementptr i64, ptr %entry, i64 2
  %step = load i64, ptr %step.at
  %is.rows = icmp eq i64 %step, 0
  %needed = select i1 %is.rows, i32 257, i32 256  ; C_CONTIGUOUS and ALIGNED, or only that
  %flags.at = getelementptr i8, ptr %array, i64 $FLAGS
  %flags = load i32, ptr %flags.at
  %both = and i32 %flags, %needed
  %is.plain = icmp eq i32 %both, %needed
  br i1 %is.plain, label %find.dtype, label %no
find.dtype:
  %dtype.at = getelementptr i8, ptr %array, i64 $DTYPE
  %dtype = load ptr, ptr %dtype.at
  %wanted = load ptr, ptr %entry
  %is.same = icmp eq ptr %dtype, %wanted
  br i1 %is.same, label %find.rank, label %no
find.rank:
  %mapped.at = getelementptr i64, ptr %entry, i64 1
  %mapped = load i64, ptr %mapped.at
  %is.mapped = icmp sge i64 %mapped, 0
  %more = zext i1 %is.mapped to i64
  %inner.at = getelementptr i64, ptr %entry, i64 3
  %inner = load i64, ptr %inner.at
  %rank.at = getelementptr i8, ptr %array, i64 $RANK
  %rank.int = load i32, ptr %rank.at
  %rank = sext i32 %rank.int to i64
  %expected = add i64 %inner, %more
  %is.rank = icmp eq i64 %rank, %expected
  br i1 %is.rank, label %find.batch, label %no
find.batch:
  %shape.at = getelementptr i8, ptr %array, i64 $SHAPE
  %shape = load ptr, ptr %shape.at
  %own.strides.at = getelementptr i8, ptr %array, i64 $STRIDES
  %own.strides = load ptr, ptr %own.strides.at
  br i1 %is.mapped, label %compare, label %find.axes
compare:
  %length.at = getelementptr i64, ptr %shape, i64 %mapped
  %length = load i64, ptr %length.at
  %is.size = icmp eq i64 %length, %size
  %apart.at = getelementptr i64, ptr %own.strides, i64 %mapped
  %apart = load i64, ptr %apart.at
  %is.step = icmp eq i64 %apart, %step
  %is.none = icmp eq i64 %size, 0  ; strides mean nothing
  %is.near = or i1 %is.step, %is.none
  %is.beside = or i1 %is.rows, %is.near
  %is.right = and i1 %is.size, %is.beside
  br i1 %is.right, label %find.axes, label %no
find.axes:
  %given = getelementptr i64, ptr %entry, i64 4
  br label %look
look:
  %axis = phi i64 [ 0, %find.axes ], [ %next, %on ]
  %is.end = icmp eq i64 %axis, %inner
  br i1 %is.end, label %yes, label %one
one:
  %is.behind = icmp uge i64 %axis, %mapped  ; never, if nothing is mapped
  %next = add i64 %axis, 1
  %own.axis = select i1 %is.behind, i64 %next, i64 %axis
  %own.at = getelementptr i64, ptr %shape, i64 %own.axis
  %own.size = load i64, ptr %own.at
  %given.at = getelementptr i64, ptr %given, i64 %axis
  %given.size = load i64, ptr %given.at
  %is.equal = icmp eq i64 %own.size, %given.size
  br i1 %is.equal, label %equal, label %no
equal:
  br i1 %is.rows, label %on, label %keep
keep:
  %stride.at = getelementptr i64, ptr %own.strides, i64 %own.axis
  %stride = load i64, ptr %stride.at
  %kept.at = getelementptr i64, ptr %strides, i64 %axis
  store i64 %stride, ptr %kept.at
  br label %on
on:
  br label %look
yes:
  ret i1 true
no:
  ret i1 false
}

; An array for a result, or null with an error set. The entry of the table: dtype, bytes of an
; example, bytes from example to example in columns or 0, rank, shape. Of columns, the examples are
; the last axis of the array, and the first of what is returned.
define internal ptr @result(ptr %entry, i64 %size, ptr %strides) {
  %order = alloca [65 x i64]
  %dims = alloca [2 x i64]
  %step.at = getelementptr i64, ptr %entry, i64 2
  %step = load i64, ptr %step.at
  %is.rows = icmp eq i64 %step, 0
  %array = call ptr @make(ptr %entry, i64 %size, i1 %is.rows)
  %is.absent = icmp eq ptr %array, null
  %is.done = or i1 %is.rows, %is.absent
  br i1 %is.done, label %done, label %turn
done:
  ret ptr %array
turn:
  %inner.at = getelementptr i64, ptr %entry, i64 3
  %inner = load i64, ptr %inner.at
  store i64 %inner, ptr %order
  %bytes = mul i64 %inner, 8
  %own.at = getelementptr i8, ptr %array, i64 $STRIDES
  %own = load ptr, ptr %own.at
  call void @llvm.memcpy.p0.p0.i64(ptr %strides, ptr %own, i64 %bytes, i1 false)
  br label %fill
fill:
  %axis = phi i64 [ 0, %turn ], [ %next, %one ]
  %is.end = icmp eq i64 %axis, %inner
  br i1 %is.end, label %transpose, label %one
one:
  %next = add i64 %axis, 1
  %place.at = getelementptr i64, ptr %order, i64 %next
  store i64 %axis, ptr %place.at
  br label %fill
transpose:
  store ptr %order, ptr %dims
  %rank = add i64 %inner, 1
  %count = trunc i64 %rank to i32
  %count.at = getelementptr i64, ptr %dims, i64 1
  store i32 %count, ptr %count.at
  %function = load ptr, ptr @np_transpose
  %view = call ptr %function(ptr %array, ptr %dims)
  call void @Py_DecRef(ptr %array)
  ret ptr %view
}

define internal ptr @make(ptr %entry, i64 %size, i1 %is.rows) {
  %shape = alloca [65 x i64]
  %two = alloca [2 x ptr]
  %dtype = load ptr, ptr %entry
  %each.at = getelementptr i64, ptr %entry, i64 1
  %each = load i64, ptr %each.at
  %inner.at = getelementptr i64, ptr %entry, i64 3
  %inner = load i64, ptr %inner.at
  %given = getelementptr i64, ptr %entry, i64 4
  %rank = add i64 %inner, 1
  %behind = getelementptr i64, ptr %shape, i64 1
  %last = getelementptr i64, ptr %shape, i64 %inner
  %rest = select i1 %is.rows, ptr %behind, ptr %shape
  %batch = select i1 %is.rows, ptr %shape, ptr %last
  store i64 %size, ptr %batch
  %bytes = mul i64 %inner, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %given, i64 %bytes, i1 false)
  %is.few = icmp ult i64 %size, 65536
  %is.light = icmp ult i64 %each, 65536
  %all = mul i64 %size, %each
  %is.little = icmp ult i64 %all, 65536
  %is.modest = and i1 %is.few, %is.light
  %is.small = and i1 %is.modest, %is.little
  br i1 %is.small, label %small, label %large
small:
  call void @Py_IncRef(ptr %dtype)  ; the array takes it
  %new = load ptr, ptr @np_new
  %type = load ptr, ptr @np_type
  %rank.int = trunc i64 %rank to i32
  %array = call ptr %new(ptr %type, ptr %dtype, i32 %rank.int, ptr %shape, ptr null, ptr null,
                         i32 0, ptr null)
  ret ptr %array
large:
  %tuple = call ptr @PyTuple_New(i64 %rank)
  %is.absent = icmp eq ptr %tuple, null
  br i1 %is.absent, label %null, label %fill
fill:
  %axis = phi i64 [ 0, %large ], [ %next, %put ]
  %is.end = icmp eq i64 %axis, %rank
  br i1 %is.end, label %call, label %one
one:
  %length.at = getelementptr i64, ptr %shape, i64 %axis
  %length = load i64, ptr %length.at
  %number = call ptr @PyLong_FromLongLong(i64 %length)
  %is.missing = icmp eq ptr %number, null
  br i1 %is.missing, label %drop, label %put
put:
  call i32 @PyTuple_SetItem(ptr %tuple, i64 %axis, ptr %number)
  %next = add i64 %axis, 1
  br label %fill
call:
  store ptr %tuple, ptr %two
  %second = getelementptr ptr, ptr %two, i64 1
  store ptr %dtype, ptr %second
  %function = load ptr, ptr @empty
  %made = call ptr @PyObject_Vectorcall(ptr %function, ptr %two, i64 2, ptr null)
  call void @Py_DecRef(ptr %tuple)
  ret ptr %made
drop:
  call void @Py_DecRef(ptr %tuple)
  br label %null
null:
  ret ptr null
}

declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)

; How many examples a thread takes at once: all where they are little work; else as many as are
; enough, but few enough that all threads stay busy.
define internal i64 @grain(ptr %table, i64 %size) {
  %few.at = getelementptr i64, ptr %table, i64 5
  %few = load i64, ptr %few.at
  %is.few = icmp sle i64 %size, %few
  br i1 %is.few, label %all, label %some
all:
  ret i64 %size
some:
  %lanes.at = getelementptr i64, ptr %table, i64 4
  %lanes = load i64, ptr %lanes.at
  %enough.at = getelementptr i64, ptr %table, i64 6
  %enough = load i64, ptr %enough.at
  %past = add i64 %size, %lanes
  %beyond = sub i64 %past, 1
  %blocks = udiv i64 %beyond, %lanes
  %usual = lshr i64 %blocks, 6
  ; A kernel that refills its lanes has idle ones at the end of each chunk only: fewer, larger ones.
  %shift.at = getelementptr i64, ptr %table, i64 8
  %shift = load i64, ptr %shift.at
  %large = lshr i64 %blocks, %shift
  %larger = call i64 @llvm.umin.i64(i64 %large, i64 64)
  %share = call i64 @llvm.umax.i64(i64 %usual, i64 %larger)
  %is.one = icmp eq i64 %share, 0
  %at.least = select i1 %is.one, i64 1, i64 %share
  %is.many = icmp ugt i64 %at.least, 1024
  %between = select i1 %is.many, i64 1024, i64 %at.least
  %grain = mul i64 %between, %lanes
  %is.short = icmp ult i64 %grain, %enough
  %result = select i1 %is.short, i64 %enough, i64 %grain
  ret i64 %result
}

; The entry behind one of the table.
define internal ptr @next(ptr %entry) {
  %rank.at = getelementptr i64, ptr %entry, i64 3
  %rank = load i64, ptr %rank.at
  %words = add i64 %rank, 4
  %next = getelementptr i64, ptr %entry, i64 %words
  ret ptr %next
}

; Where the strides of the array behind one go: columns have some.
define internal ptr @behind(ptr %entry, ptr %strides) {
  %step.at = getelementptr i64, ptr %entry, i64 2
  %step = load i64, ptr %step.at
  %is.rows = icmp eq i64 %step, 0
  %rank.at = getelementptr i64, ptr %entry, i64 3
  %rank = load i64, ptr %rank.at
  %behind = getelementptr i64, ptr %strides, i64 %rank
  %next = select i1 %is.rows, ptr %strides, ptr %behind
  ret ptr %next
}

; Call a kernel. Returns a tuple of arrays; null with an error set; 1 if the operands must be
; converted first. What it leaves undone, the mender does.
define internal ptr @attempt(ptr %table, ptr %arguments, i64 %count, ptr %mender) {
  %code.at = alloca i64
  %inputs.at = getelementptr i64, ptr %table, i64 1
  %inputs = load i64, ptr %inputs.at
  %outputs.at = getelementptr i64, ptr %table, i64 2
  %outputs = load i64, ptr %outputs.at
  %taken = sub i64 %count, 1
  %more = sub i64 %taken, %inputs
  %is.count = icmp eq i64 %more, 0
  %is.filling = icmp eq i64 %more, %outputs  ; behind the operands stand the arrays to write to
  %is.right = or i1 %is.count, %is.filling
  br i1 %is.right, label %sized, label %unusable
sized:
  %size = call i64 @size_of(ptr %table, ptr %arguments)
  %is.negative = icmp slt i64 %size, 0
  br i1 %is.negative, label %unusable, label %prepare
prepare:
  %arrays = add i64 %inputs, %outputs
  %apart.at = getelementptr i64, ptr %table, i64 10
  %apart = load i64, ptr %apart.at
  %words = add i64 %arrays, %apart
  %words.bytes = mul i64 %words, 8
  %bytes = add i64 %words.bytes, 40  ; the last word is the mender's
  %context = alloca i8, i64 %bytes, align 64
  %pointers = getelementptr i8, ptr %context, i64 32
  %strides.first = getelementptr i64, ptr %pointers, i64 %arrays
  %entries = getelementptr i64, ptr %table, i64 11
  br label %operands
operands:
  %i = phi i64 [ 0, %prepare ], [ %i.next, %pointer ]
  %entry = phi ptr [ %entries, %prepare ], [ %entry.next, %pointer ]
  %strides = phi ptr [ %strides.first, %prepare ], [ %strides.next, %pointer ]
  %is.last = icmp eq i64 %i, %inputs
  br i1 %is.last, label %allocate, label %operand
operand:
  %i.next = add i64 %i, 1
  %array.at = getelementptr ptr, ptr %arguments, i64 %i.next
  %array = load ptr, ptr %array.at
  %is.fit = call i1 @fits(ptr %array, ptr %entry, i64 %size, ptr %strides)
  br i1 %is.fit, label %pointer, label %unusable
pointer:
  %data.at = getelementptr i8, ptr %array, i64 $DATA
  %data = load ptr, ptr %data.at
  %pointer.at = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %data, ptr %pointer.at
  %strides.next = call ptr @behind(ptr %entry, ptr %strides)
  %entry.next = call ptr @next(ptr %entry)
  br label %operands
unusable:
  ret ptr inttoptr (i64 1 to ptr)

allocate:
  %tuple = call ptr @PyTuple_New(i64 %outputs)
  %is.absent = icmp eq ptr %tuple, null
  br i1 %is.absent, label %null, label %results
results:
  %j = phi i64 [ 0, %allocate ], [ %j.next, %made ]
  %target = phi ptr [ %entry, %allocate ], [ %target.next, %made ]
  %target.strides = phi ptr [ %strides, %allocate ], [ %target.strides.next, %made ]
  %is.all = icmp eq i64 %j, %outputs
  br i1 %is.all, label %ready, label %result
result:
  br i1 %is.count, label %fresh, label %given
fresh:
  %array.new = call ptr @result(ptr %target, i64 %size, ptr %target.strides)
  %is.missing = icmp eq ptr %array.new, null
  br i1 %is.missing, label %drop, label %made
given:
  %given.place = add i64 %inputs, %j
  %given.behind = add i64 %given.place, 1
  %given.at = getelementptr ptr, ptr %arguments, i64 %given.behind
  %array.given = load ptr, ptr %given.at
  call void @Py_IncRef(ptr %array.given)  ; the tuple takes it
  br label %made
made:
  %new = phi ptr [ %array.new, %fresh ], [ %array.given, %given ]
  call i32 @PyTuple_SetItem(ptr %tuple, i64 %j, ptr %new)
  %new.data.at = getelementptr i8, ptr %new, i64 $DATA
  %new.data = load ptr, ptr %new.data.at
  %number = add i64 %inputs, %j
  %new.pointer.at = getelementptr ptr, ptr %pointers, i64 %number
  store ptr %new.data, ptr %new.pointer.at
  %target.strides.next = call ptr @behind(ptr %target, ptr %target.strides)
  %target.next = call ptr @next(ptr %target)
  %j.next = add i64 %j, 1
  br label %results
ready:
  %is.empty = icmp eq i64 %size, 0
  br i1 %is.empty, label %done, label %start
start:
  call void @llvm.memset.p0.i64(ptr %context, i8 0, i64 32, i1 false)
  %bytes.at = getelementptr i64, ptr %context, i64 3
  store i64 %bytes, ptr %bytes.at
  %kernel = load ptr, ptr %table
  %scratch.at = getelementptr i64, ptr %table, i64 3
  %scratch = load i64, ptr %scratch.at
  %grain = call i64 @grain(ptr %table, i64 %size)
  %run = load ptr, ptr @run
  %status = call i32 %run(ptr %kernel, ptr %context, i64 %size, i64 %grain, i64 %scratch,
                          ptr %code.at)
  %is.raised = icmp ne i32 %status, 0
  br i1 %is.raised, label %drop, label %check
check:
  %code = load i64, ptr %code.at
  %is.fine = icmp eq i64 %code, 0
  br i1 %is.fine, label %done, label %fail
fail:
  %own.count = add i64 %inputs, 1
  %mended = call ptr @mend(ptr %mender, ptr %tuple, i64 %code, ptr %context, ptr %arguments,
                           i64 %own.count)
  call void @Py_DecRef(ptr %tuple)
  ret ptr %mended
done:
  ret ptr %tuple
drop:
  call void @Py_DecRef(ptr %tuple)
  br label %null
null:
  ret ptr null
}

; Call mender(results, code, address of the context, *arguments), and return what it returns.
define internal ptr @mend(ptr %mender, ptr %results, i64 %code, ptr %context, ptr %arguments,
                          i64 %count) {
  %all = add i64 %count, 3
  %items = alloca ptr, i64 %all
  %number = call ptr @PyLong_FromLongLong(i64 %code)
  %no.number = icmp eq ptr %number, null
  br i1 %no.number, label %null, label %locate
locate:
  %address = ptrtoint ptr %context to i64
  %where = call ptr @PyLong_FromLongLong(i64 %address)
  %no.where = icmp eq ptr %where, null
  br i1 %no.where, label %forget, label %fill
fill:
  %second = getelementptr ptr, ptr %items, i64 1
  %third = getelementptr ptr, ptr %items, i64 2
  %rest = getelementptr ptr, ptr %items, i64 3
  store ptr %results, ptr %items
  store ptr %number, ptr %second
  store ptr %where, ptr %third
  %bytes = mul i64 %count, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %arguments, i64 %bytes, i1 false)
  %mended = call ptr @PyObject_Vectorcall(ptr %mender, ptr %items, i64 %all, ptr null)
  call void @Py_DecRef(ptr %where)
  call void @Py_DecRef(ptr %number)
  ret ptr %mended
forget:
  call void @Py_DecRef(ptr %number)
  br label %null
null:
  ret ptr null
}

; launch(size, *operands), a method of (cell, otherwise). The cell has what is known of the kernel to
; be tried, (table, mender, ...), or None. What does not fit it is left to the function `otherwise`.
define ptr @launch(ptr %self, ptr %arguments, i64 %count) {
  %cell = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  ; A reference of one's own: another thread may change the cell, now and while the kernel runs.
  %known = call ptr @PySequence_GetItem(ptr %cell, i64 0)
  %none = load ptr, ptr @none
  %is.none = icmp eq ptr %known, %none
  br i1 %is.none, label %unknown, label %direct
unknown:
  call void @Py_DecRef(ptr %known)
  br label %else
direct:
  %bytes = call ptr @PyTuple_GetItem(ptr %known, i64 0)
  %table = call ptr @PyBytes_AsString(ptr %bytes)
  %mender = call ptr @PyTuple_GetItem(ptr %known, i64 1)
  %result = call ptr @attempt(ptr %table, ptr %arguments, i64 %count, ptr %mender)
  call void @Py_DecRef(ptr %known)
  %is.unusable = icmp eq ptr %result, inttoptr (i64 1 to ptr)
  br i1 %is.unusable, label %else, label %out
out:
  ret ptr %result
else:
  %function = call ptr @PyTuple_GetItem(ptr %self, i64 1)
  %is.nobody = icmp eq ptr %function, %none
  br i1 %is.nobody, label %refuse, label %call
call:
  %found = call ptr @PyObject_Vectorcall(ptr %function, ptr %arguments, i64 %count, ptr null)
  ret ptr %found
refuse:
  %error = load ptr, ptr @type_error
  call void @PyErr_SetString(ptr %error, ptr @unusable_text)
  ret ptr null
}
