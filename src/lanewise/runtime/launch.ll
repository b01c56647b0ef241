; A kernel called on arrays: what is in the way of a steady call. What it does stands in launch.py.
;
; The table of a kernel: numbers of 64 bits, see launch.py. Arrays are PyArrayObjects, whose fields
; are part of NumPy's stable ABI: data, rank, dimensions, strides, base, descriptor, flags.

@np_type = global ptr null              ; numpy.ndarray
@int_type = global ptr null             ; int
@empty = global ptr null                ; the function that makes large arrays
@failed = global ptr null               ; the function that raises for an example that failed
@type_error = global ptr null
@none = global ptr null
@np_new = global ptr null               ; PyArray_NewFromDescr
@run = global ptr null                  ; the pool's `launch`

@unusable_text = internal constant [37 x i8] c"an array does not fit a compiled map\00"

declare ptr @PyTuple_New(i64)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
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
  %shape.at = getelementptr i8, ptr %array, i64 $SHAPE
  %shape = load ptr, ptr %shape.at
  %size = load i64, ptr %shape
  ret i64 %size
none:
  ret i64 -1
}

; Whether an operand can be read as it is: of this type, without gaps, aligned, of this dtype, shape
; and size. The entry of the table: dtype, whether it is mapped, rank, shape.
define internal i1 @fits(ptr %array, ptr %entry, i64 %size) {
  %np = load ptr, ptr @np_type
  %is.array = call i1 @is_a(ptr %array, ptr %np)
  br i1 %is.array, label %find.flags, label %no
find.flags:
  %flags.at = getelementptr i8, ptr %array, i64 $FLAGS
  %flags = load i32, ptr %flags.at
  %both = and i32 %flags, 257  ; C_CONTIGUOUS and ALIGNED
  %is.plain = icmp eq i32 %both, 257
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
  %inner.at = getelementptr i64, ptr %entry, i64 2
  %inner = load i64, ptr %inner.at
  %rank.at = getelementptr i8, ptr %array, i64 $RANK
  %rank.int = load i32, ptr %rank.at
  %rank = sext i32 %rank.int to i64
  %expected = add i64 %inner, %mapped
  %is.rank = icmp eq i64 %rank, %expected
  br i1 %is.rank, label %find.batch, label %no
find.batch:
  %shape.at = getelementptr i8, ptr %array, i64 $SHAPE
  %shape = load ptr, ptr %shape.at
  %is.mapped = icmp ne i64 %mapped, 0
  br i1 %is.mapped, label %compare, label %find.axes
compare:
  %length = load i64, ptr %shape
  %is.size = icmp eq i64 %length, %size
  br i1 %is.size, label %find.axes, label %no
find.axes:
  %own = getelementptr i64, ptr %shape, i64 %mapped
  %given = getelementptr i64, ptr %entry, i64 3
  br label %look
look:
  %axis = phi i64 [ 0, %find.axes ], [ %next, %one ]
  %is.end = icmp eq i64 %axis, %inner
  br i1 %is.end, label %yes, label %one
one:
  %own.at = getelementptr i64, ptr %own, i64 %axis
  %own.size = load i64, ptr %own.at
  %given.at = getelementptr i64, ptr %given, i64 %axis
  %given.size = load i64, ptr %given.at
  %next = add i64 %axis, 1
  %is.equal = icmp eq i64 %own.size, %given.size
  br i1 %is.equal, label %look, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; An array for a result, or null with an error set. The entry of the table: dtype, bytes of an
; example, rank, shape.
define internal ptr @make(ptr %entry, i64 %size) {
  %shape = alloca [65 x i64]
  %two = alloca [2 x ptr]
  %dtype = load ptr, ptr %entry
  %each.at = getelementptr i64, ptr %entry, i64 1
  %each = load i64, ptr %each.at
  %inner.at = getelementptr i64, ptr %entry, i64 2
  %inner = load i64, ptr %inner.at
  %given = getelementptr i64, ptr %entry, i64 3
  %rank = add i64 %inner, 1
  %rest = getelementptr i64, ptr %shape, i64 1
  store i64 %size, ptr %shape
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

; Call a kernel. Returns a tuple of arrays; null with an error set; 1 if the operands must be
; converted first.
define internal ptr @attempt(ptr %table, ptr %arguments, i64 %count) {
  %code.at = alloca i64
  %inputs.at = getelementptr i64, ptr %table, i64 1
  %inputs = load i64, ptr %inputs.at
  %outputs.at = getelementptr i64, ptr %table, i64 2
  %outputs = load i64, ptr %outputs.at
  %taken = sub i64 %count, 1
  %is.count = icmp eq i64 %taken, %inputs
  br i1 %is.count, label %sized, label %unusable
sized:
  %size = call i64 @size_of(ptr %table, ptr %arguments)
  %is.negative = icmp slt i64 %size, 0
  br i1 %is.negative, label %unusable, label %prepare
prepare:
  %arrays = add i64 %inputs, %outputs
  %pointers.bytes = mul i64 %arrays, 8
  %bytes = add i64 %pointers.bytes, 32
  %context = alloca i8, i64 %bytes, align 64
  %pointers = getelementptr i8, ptr %context, i64 32
  %entries = getelementptr i64, ptr %table, i64 10
  br label %operands
operands:
  %i = phi i64 [ 0, %prepare ], [ %i.next, %pointer ]
  %entry = phi ptr [ %entries, %prepare ], [ %entry.next, %pointer ]
  %is.last = icmp eq i64 %i, %inputs
  br i1 %is.last, label %allocate, label %operand
operand:
  %i.next = add i64 %i, 1
  %array.at = getelementptr ptr, ptr %arguments, i64 %i.next
  %array = load ptr, ptr %array.at
  %is.fit = call i1 @fits(ptr %array, ptr %entry, i64 %size)
  br i1 %is.fit, label %pointer, label %unusable
pointer:
  %data.at = getelementptr i8, ptr %array, i64 $DATA
  %data = load ptr, ptr %data.at
  %pointer.at = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %data, ptr %pointer.at
  %rank.at = getelementptr i64, ptr %entry, i64 2
  %rank = load i64, ptr %rank.at
  %words = add i64 %rank, 3
  %entry.next = getelementptr i64, ptr %entry, i64 %words
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
  %is.all = icmp eq i64 %j, %outputs
  br i1 %is.all, label %ready, label %result
result:
  %new = call ptr @make(ptr %target, i64 %size)
  %is.missing = icmp eq ptr %new, null
  br i1 %is.missing, label %drop, label %made
made:
  call i32 @PyTuple_SetItem(ptr %tuple, i64 %j, ptr %new)
  %new.data.at = getelementptr i8, ptr %new, i64 $DATA
  %new.data = load ptr, ptr %new.data.at
  %number = add i64 %inputs, %j
  %new.pointer.at = getelementptr ptr, ptr %pointers, i64 %number
  store ptr %new.data, ptr %new.pointer.at
  %target.rank.at = getelementptr i64, ptr %target, i64 2
  %target.rank = load i64, ptr %target.rank.at
  %target.words = add i64 %target.rank, 3
  %target.next = getelementptr i64, ptr %target, i64 %target.words
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
  call void @raise_failed(i64 %code)
  br label %drop
done:
  ret ptr %tuple
drop:
  call void @Py_DecRef(ptr %tuple)
  br label %null
null:
  ret ptr null
}

define internal void @raise_failed(i64 %code) {
  %one = alloca ptr
  %number = call ptr @PyLong_FromLongLong(i64 %code)
  %is.missing = icmp eq ptr %number, null
  br i1 %is.missing, label %out, label %call
call:
  store ptr %number, ptr %one
  %function = load ptr, ptr @failed
  %nothing = call ptr @PyObject_Vectorcall(ptr %function, ptr %one, i64 1, ptr null)
  call void @Py_DecRef(ptr %number)
  br label %out
out:
  ret void
}

; launch(sizes, *operands), a method of (table, convert, ...). What does not fit is converted.
define ptr @launch(ptr %self, ptr %arguments, i64 %count) {
  %bytes = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %table = call ptr @PyBytes_AsString(ptr %bytes)
  %moves.at = getelementptr i64, ptr %table, i64 9
  %moves = load i64, ptr %moves.at
  %is.moved = icmp ne i64 %moves, 0
  br i1 %is.moved, label %convert, label %direct
direct:
  %result = call ptr @attempt(ptr %table, ptr %arguments, i64 %count)
  %is.unusable = icmp eq ptr %result, inttoptr (i64 1 to ptr)
  br i1 %is.unusable, label %convert, label %out
out:
  ret ptr %result
convert:
  %function = call ptr @PyTuple_GetItem(ptr %self, i64 1)
  %converted = call ptr @PyObject_Vectorcall(ptr %function, ptr %arguments, i64 %count, ptr null)
  %is.raised = icmp eq ptr %converted, null
  br i1 %is.raised, label %null, label %again
again:
  %number = call i64 @PyTuple_Size(ptr %converted)
  %items = alloca ptr, i64 %number
  br label %copy
copy:
  %i = phi i64 [ 0, %again ], [ %next, %one ]
  %is.end = icmp eq i64 %i, %number
  br i1 %is.end, label %call, label %one
one:
  %item = call ptr @PyTuple_GetItem(ptr %converted, i64 %i)
  %item.at = getelementptr ptr, ptr %items, i64 %i
  store ptr %item, ptr %item.at
  %next = add i64 %i, 1
  br label %copy
call:
  %second = call ptr @attempt(ptr %table, ptr %items, i64 %number)
  call void @Py_DecRef(ptr %converted)
  %is.hopeless = icmp eq ptr %second, inttoptr (i64 1 to ptr)
  br i1 %is.hopeless, label %refuse, label %answer
answer:
  ret ptr %second
refuse:
  %error = load ptr, ptr @type_error
  call void @PyErr_SetString(ptr %error, ptr @unusable_text)
  br label %null
null:
  ret ptr null
}
