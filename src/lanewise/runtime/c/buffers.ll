; Made by tests/support/clang.py of buffers.c and runtime.h: bf2b4cb416e4411702c13c65b65afc65a9a771ebfd7ec33456f8c400a324af0f
%struct.anon = type { ptr, i64 }
%struct.anon.0 = type { [127 x i8], i8, ptr, ptr, ptr, ptr, ptr }
@PAGE = external constant i64, align 8
@count = internal global i64 0, align 8
@kept = internal global [64 x %struct.anon] zeroinitializer, align 16
@ADVISE_FREE = external constant i32, align 4
@bytes = internal global i64 0, align 8
@bound = internal global i64 0, align 8
@handler = global %struct.anon.0 { [127 x i8] c"lanewise\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00", i8 1, ptr null, ptr @handler_malloc, ptr @handler_calloc, ptr @handler_realloc, ptr @handler_free }, align 8
@busy = internal global i32 0, align 4
@MAP_ANONYMOUS = external constant i32, align 4
@ADVISE_HUGE = external constant i32, align 4
define ptr @handler_malloc(ptr %0, i64 %1) {
  %3 = icmp ugt i64 %1, 281474976710656
  br i1 %3, label %55, label %4
4:
  %5 = load i64, ptr @PAGE, align 8
  %6 = add nsw i64 %1, -1
  %7 = add i64 %6, %5
  %8 = sub nsw i64 0, %5
  %9 = and i64 %7, %8
  %10 = call i64 @llvm.smax.i64(i64 %9, i64 %5)
  %11 = sdiv i64 %10, 8
  %12 = add nsw i64 %11, %10
  %13 = atomicrmw xchg ptr @busy, i32 1 acquire, align 4
  %14 = icmp eq i32 %13, 0
  br i1 %14, label %18, label %15
15:
  call void @wait_briefly()
  %16 = atomicrmw xchg ptr @busy, i32 1 acquire, align 4
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %18, label %15
18:
  %19 = load i64, ptr @count, align 8
  %20 = icmp sgt i64 %19, 0
  br i1 %20, label %24, label %23
21:
  %22 = icmp slt i64 %33, 0
  br i1 %22, label %23, label %37
23:
  store atomic i32 0, ptr @busy release, align 4
  br label %50
24:
  %25 = phi i64 [ %35, %24 ], [ 0, %18 ]
  %26 = phi i64 [ %34, %24 ], [ %12, %18 ]
  %27 = phi i64 [ %33, %24 ], [ -1, %18 ]
  %28 = getelementptr inbounds [64 x %struct.anon], ptr @kept, i64 0, i64 %25, i32 1
  %29 = load i64, ptr %28, align 8
  %30 = icmp slt i64 %29, %10
  %31 = icmp sgt i64 %29, %26
  %32 = select i1 %30, i1 true, i1 %31
  %33 = select i1 %32, i64 %27, i64 %25
  %34 = select i1 %32, i64 %26, i64 %29
  %35 = add nsw i64 %25, 1
  %36 = icmp eq i64 %35, %19
  br i1 %36, label %21, label %24
37:
  %38 = getelementptr inbounds [64 x %struct.anon], ptr @kept, i64 0, i64 %33
  %39 = load ptr, ptr %38, align 16
  %40 = getelementptr inbounds i8, ptr %38, i64 8
  %41 = load i64, ptr %40, align 8
  %42 = load i64, ptr @bytes, align 8
  %43 = sub nsw i64 %42, %41
  store i64 %43, ptr @bytes, align 8
  %44 = add nsw i64 %19, -1
  store i64 %44, ptr @count, align 8
  %45 = add nsw i64 %33, 1
  %46 = getelementptr inbounds [64 x %struct.anon], ptr @kept, i64 0, i64 %45
  %47 = sub nsw i64 %44, %33
  %48 = shl i64 %47, 4
  call void @llvm.memmove.p0.p0.i64(ptr align 16 %38, ptr align 16 %46, i64 %48, i1 false)
  store atomic i32 0, ptr @busy release, align 4
  %49 = icmp eq ptr %39, null
  br i1 %49, label %50, label %55
50:
  %51 = call ptr @map(i64 %10)
  %52 = icmp eq ptr %51, null
  br i1 %52, label %53, label %55
53:
  call void @trim(i64 281474976710656)
  %54 = call ptr @map(i64 %10)
  br label %55
55:
  %56 = phi ptr [ null, %2 ], [ %51, %50 ], [ %54, %53 ], [ %39, %37 ]
  ret ptr %56
}
define internal ptr @map(i64 %0) {
  %2 = icmp sgt i64 %0, 2097151
  %3 = load i64, ptr @PAGE, align 8
  %4 = select i1 %2, i64 2097152, i64 0
  %5 = add i64 %4, %0
  %6 = add i64 %5, %3
  %7 = load i32, ptr @MAP_ANONYMOUS, align 4
  %8 = call ptr @mmap(ptr null, i64 %6, i32 3, i32 %7, i32 -1, i64 0)
  %9 = icmp eq ptr %8, inttoptr (i64 -1 to ptr)
  br i1 %9, label %40, label %10
10:
  %11 = getelementptr inbounds i8, ptr %8, i64 %3
  %12 = ptrtoint ptr %11 to i64
  %13 = sub nsw i64 0, %12
  %14 = and i64 %13, 2097151
  %15 = select i1 %2, i64 %14, i64 0
  %16 = getelementptr inbounds i8, ptr %11, i64 %15
  %17 = sub i64 0, %3
  %18 = getelementptr inbounds i8, ptr %16, i64 %17
  %19 = getelementptr inbounds i8, ptr %16, i64 %0
  %20 = getelementptr inbounds i8, ptr %8, i64 %6
  %21 = icmp ugt ptr %18, %8
  br i1 %21, label %22, label %27
22:
  %23 = ptrtoint ptr %18 to i64
  %24 = ptrtoint ptr %8 to i64
  %25 = sub i64 %23, %24
  %26 = call i32 @munmap(ptr %8, i64 %25)
  br label %27
27:
  %28 = icmp ugt ptr %20, %19
  br i1 %28, label %29, label %34
29:
  %30 = ptrtoint ptr %20 to i64
  %31 = ptrtoint ptr %19 to i64
  %32 = sub i64 %30, %31
  %33 = call i32 @munmap(ptr %19, i64 %32)
  br label %34
34:
  %35 = load i32, ptr @ADVISE_HUGE, align 4
  %36 = icmp sgt i32 %35, -1
  br i1 %36, label %37, label %39
37:
  %38 = call i32 @madvise(ptr %16, i64 %0, i32 %35)
  br label %39
39:
  store i64 %0, ptr %18, align 8
  br label %40
40:
  %41 = phi ptr [ %16, %39 ], [ null, %1 ]
  ret ptr %41
}
define internal void @trim(i64 %0) {
  %2 = icmp eq i64 %0, 0
  %3 = select i1 %2, i64 64, i64 63
  %4 = load i64, ptr @PAGE, align 8
  %5 = sub i64 0, %4
  br label %6
6:
  %7 = atomicrmw xchg ptr @busy, i32 1 acquire, align 4
  %8 = icmp eq i32 %7, 0
  br i1 %8, label %12, label %9
9:
  call void @wait_briefly()
  %10 = atomicrmw xchg ptr @busy, i32 1 acquire, align 4
  %11 = icmp eq i32 %10, 0
  br i1 %11, label %12, label %9
12:
  %13 = load i64, ptr @count, align 8
  %14 = icmp eq i64 %13, 0
  br i1 %14, label %22, label %15
15:
  %16 = load i64, ptr @bytes, align 8
  %17 = add nsw i64 %16, %0
  %18 = load i64, ptr @bound, align 8
  %19 = icmp sgt i64 %17, %18
  %20 = icmp sgt i64 %13, %3
  %21 = or i1 %19, %20
  br i1 %21, label %23, label %22
22:
  store atomic i32 0, ptr @busy release, align 4
  br label %35
23:
  %24 = load ptr, ptr @kept, align 16
  %25 = load i64, ptr getelementptr inbounds (i8, ptr @kept, i64 8), align 8
  %26 = sub nsw i64 %16, %25
  store i64 %26, ptr @bytes, align 8
  %27 = add nsw i64 %13, -1
  store i64 %27, ptr @count, align 8
  %28 = shl i64 %27, 4
  call void @llvm.memmove.p0.p0.i64(ptr align 16 @kept, ptr align 16 getelementptr inbounds (i8, ptr @kept, i64 16), i64 %28, i1 false)
  store atomic i32 0, ptr @busy release, align 4
  %29 = icmp eq ptr %24, null
  br i1 %29, label %35, label %30
30:
  %31 = getelementptr inbounds i8, ptr %24, i64 %5
  %32 = load i64, ptr %31, align 8
  %33 = add nsw i64 %32, %4
  %34 = call i32 @munmap(ptr %31, i64 %33)
  br label %6
35:
  ret void
}
define void @handler_free(ptr %0, ptr %1, i64 %2) {
  %4 = icmp eq ptr %1, null
  br i1 %4, label %51, label %5
5:
  %6 = load i64, ptr @PAGE, align 8
  %7 = sub i64 0, %6
  %8 = getelementptr inbounds i8, ptr %1, i64 %7
  %9 = load i64, ptr %8, align 8
  %10 = atomicrmw xchg ptr @busy, i32 1 acquire, align 4
  %11 = icmp eq i32 %10, 0
  br i1 %11, label %15, label %12
12:
  call void @wait_briefly()
  %13 = atomicrmw xchg ptr @busy, i32 1 acquire, align 4
  %14 = icmp eq i32 %13, 0
  br i1 %14, label %15, label %12
15:
  %16 = load i64, ptr @bound, align 8
  store atomic i32 0, ptr @busy release, align 4
  %17 = icmp sgt i64 %9, %16
  br i1 %17, label %18, label %22
18:
  %19 = load i64, ptr %8, align 8
  %20 = add nsw i64 %19, %6
  %21 = call i32 @munmap(ptr %8, i64 %20)
  br label %51
22:
  call void @trim(i64 %9)
  %23 = load i32, ptr @ADVISE_FREE, align 4
  %24 = icmp sgt i32 %23, -1
  %25 = icmp sgt i64 %9, 33554431
  %26 = select i1 %24, i1 %25, i1 false
  br i1 %26, label %27, label %29
27:
  %28 = call i32 @madvise(ptr %1, i64 %9, i32 %23)
  br label %29
29:
  %30 = atomicrmw xchg ptr @busy, i32 1 acquire, align 4
  %31 = icmp eq i32 %30, 0
  br i1 %31, label %35, label %32
32:
  call void @wait_briefly()
  %33 = atomicrmw xchg ptr @busy, i32 1 acquire, align 4
  %34 = icmp eq i32 %33, 0
  br i1 %34, label %35, label %32
35:
  %36 = load i64, ptr @bytes, align 8
  %37 = add nsw i64 %36, %9
  %38 = load i64, ptr @bound, align 8
  %39 = icmp sle i64 %37, %38
  %40 = load i64, ptr @count, align 8
  %41 = icmp slt i64 %40, 64
  %42 = select i1 %39, i1 %41, i1 false
  br i1 %42, label %43, label %47
43:
  %44 = getelementptr inbounds [64 x %struct.anon], ptr @kept, i64 0, i64 %40
  store ptr %1, ptr %44, align 16
  %45 = add nsw i64 %40, 1
  store i64 %45, ptr @count, align 8
  %46 = getelementptr inbounds [64 x %struct.anon], ptr @kept, i64 0, i64 %40, i32 1
  store i64 %9, ptr %46, align 8
  store i64 %37, ptr @bytes, align 8
  store atomic i32 0, ptr @busy release, align 4
  br label %51
47:
  store atomic i32 0, ptr @busy release, align 4
  %48 = load i64, ptr %8, align 8
  %49 = add nsw i64 %48, %6
  %50 = call i32 @munmap(ptr %8, i64 %49)
  br label %51
51:
  ret void
}
declare i32 @madvise(ptr, i64, i32)
define internal ptr @handler_calloc(ptr %0, i64 %1, i64 %2) {
  %4 = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %1, i64 %2)
  %5 = extractvalue { i64, i1 } %4, 1
  %6 = extractvalue { i64, i1 } %4, 0
  br i1 %5, label %11, label %7
7:
  %8 = call ptr @handler_malloc(ptr poison, i64 %6)
  %9 = icmp eq ptr %8, null
  br i1 %9, label %11, label %10
10:
  call void @llvm.memset.p0.i64(ptr align 1 %8, i8 0, i64 %6, i1 false)
  br label %11
11:
  %12 = phi ptr [ null, %3 ], [ %8, %10 ], [ null, %7 ]
  ret ptr %12
}
define internal ptr @handler_realloc(ptr %0, ptr %1, i64 %2) {
  %4 = icmp eq ptr %1, null
  br i1 %4, label %5, label %7
5:
  %6 = call ptr @handler_malloc(ptr poison, i64 %2)
  br label %17
7:
  %8 = load i64, ptr @PAGE, align 8
  %9 = sub i64 0, %8
  %10 = getelementptr inbounds i8, ptr %1, i64 %9
  %11 = load i64, ptr %10, align 8
  %12 = icmp ugt i64 %2, %11
  br i1 %12, label %13, label %17
13:
  %14 = call ptr @handler_malloc(ptr poison, i64 %2)
  %15 = icmp eq ptr %14, null
  br i1 %15, label %17, label %16
16:
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %14, ptr align 1 %1, i64 %11, i1 false)
  call void @handler_free(ptr poison, ptr %1, i64 poison)
  br label %17
17:
  %18 = phi ptr [ %1, %7 ], [ %14, %16 ], [ null, %13 ], [ %6, %5 ]
  ret ptr %18
}
define i64 @limit(i64 %0) {
  %2 = atomicrmw xchg ptr @busy, i32 1 acquire, align 4
  %3 = icmp eq i32 %2, 0
  br i1 %3, label %7, label %4
4:
  call void @wait_briefly()
  %5 = atomicrmw xchg ptr @busy, i32 1 acquire, align 4
  %6 = icmp eq i32 %5, 0
  br i1 %6, label %7, label %4
7:
  store i64 %0, ptr @bound, align 8
  store atomic i32 0, ptr @busy release, align 4
  call void @trim(i64 0)
  %8 = atomicrmw xchg ptr @busy, i32 1 acquire, align 4
  %9 = icmp eq i32 %8, 0
  br i1 %9, label %13, label %10
10:
  call void @wait_briefly()
  %11 = atomicrmw xchg ptr @busy, i32 1 acquire, align 4
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %13, label %10
13:
  %14 = load i64, ptr @bytes, align 8
  store atomic i32 0, ptr @busy release, align 4
  ret i64 %14
}
define void @forked() {
  %1 = load atomic i32, ptr @busy seq_cst, align 4
  %2 = icmp eq i32 %1, 0
  br i1 %2, label %4, label %3
3:
  store i64 0, ptr @bytes, align 8
  store i64 0, ptr @count, align 8
  store atomic i32 0, ptr @busy release, align 4
  br label %4
4:
  ret void
}
declare void @wait_briefly()
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.smax.i64(i64, i64)
