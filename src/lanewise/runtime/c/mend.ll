; Made by tests/support/clang.py of mend.c and runtime.h: bbccebb4f553227360e90cb630f9eebde2b7a0959e557c2b98b35d0e09f708c4
define i64 @go_on(ptr %0, i64 %1, i64 %2, ptr %3) {
  %5 = getelementptr inbounds i8, ptr %0, i64 24
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr inbounds i8, ptr %0, i64 %6
  %8 = getelementptr inbounds i8, ptr %7, i64 -8
  %9 = load ptr, ptr %8, align 8
  %10 = getelementptr inbounds i8, ptr %9, i64 16
  %11 = load i64, ptr %10, align 8
  %12 = getelementptr inbounds i8, ptr %9, i64 8
  %13 = load i64, ptr %12, align 8
  %14 = add nsw i64 %13, %1
  %15 = add nsw i64 %13, %2
  %16 = getelementptr inbounds i8, ptr %9, i64 48
  %17 = load i64, ptr %16, align 8
  %18 = icmp slt i64 %17, 0
  %19 = getelementptr inbounds i8, ptr %3, i64 %17
  %20 = select i1 %18, ptr null, ptr %19
  %21 = getelementptr inbounds i8, ptr %9, i64 40
  %22 = getelementptr inbounds i8, ptr %9, i64 32
  %23 = icmp sgt i64 %11, 0
  %24 = icmp eq ptr %20, null
  %25 = getelementptr inbounds i8, ptr %9, i64 24
  %26 = getelementptr inbounds i64, ptr %20, i64 %11
  br label %27
27:
  %28 = phi i64 [ %14, %4 ], [ %65, %64 ]
  %29 = load ptr, ptr %9, align 8
  %30 = call i64 %29(ptr %0, i64 %28, i64 %15, ptr %3)
  %31 = and i64 %30, 1
  %32 = icmp eq i64 %31, 0
  br i1 %32, label %67, label %33
33:
  %34 = atomicrmw add ptr %21, i64 %11 seq_cst, align 8
  %35 = add nsw i64 %34, %11
  %36 = load i64, ptr %22, align 8
  %37 = icmp sgt i64 %35, %36
  br i1 %37, label %67, label %38
38:
  %39 = ashr i64 %30, 2
  br i1 %23, label %45, label %42
40:
  %41 = load i64, ptr %22, align 8
  br label %42
42:
  %43 = phi i64 [ %41, %40 ], [ %36, %38 ]
  %44 = icmp eq i64 %35, %43
  br i1 %44, label %67, label %59
45:
  %46 = phi i64 [ %57, %52 ], [ 0, %38 ]
  br i1 %24, label %50, label %47
47:
  %48 = getelementptr inbounds i64, ptr %20, i64 %46
  %49 = load i64, ptr %48, align 8
  br label %52
50:
  %51 = add nsw i64 %46, %39
  br label %52
52:
  %53 = phi i64 [ %49, %47 ], [ %51, %50 ]
  %54 = load ptr, ptr %25, align 8
  %55 = getelementptr i64, ptr %54, i64 %34
  %56 = getelementptr i64, ptr %55, i64 %46
  store i64 %53, ptr %56, align 8
  %57 = add nsw i64 %46, 1
  %58 = icmp eq i64 %57, %11
  br i1 %58, label %40, label %45
59:
  br i1 %24, label %62, label %60
60:
  %61 = load i64, ptr %26, align 8
  br label %64
62:
  %63 = add nsw i64 %39, %11
  br label %64
64:
  %65 = phi i64 [ %61, %60 ], [ %63, %62 ]
  %66 = icmp slt i64 %65, %15
  br i1 %66, label %27, label %67
67:
  %68 = phi i64 [ 0, %64 ], [ %30, %27 ], [ %30, %33 ], [ %30, %42 ]
  ret i64 %68
}
define i64 @one_by_one(ptr %0, i64 %1, i64 %2, ptr %3) {
  %5 = getelementptr inbounds i8, ptr %0, i64 24
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr inbounds i8, ptr %0, i64 %6
  %8 = getelementptr inbounds i8, ptr %7, i64 -8
  %9 = load ptr, ptr %8, align 8
  %10 = icmp slt i64 %1, %2
  br i1 %10, label %11, label %31
11:
  %12 = getelementptr inbounds i8, ptr %9, i64 24
  br label %13
13:
  %14 = phi i64 [ %1, %11 ], [ %29, %28 ]
  %15 = load ptr, ptr %12, align 8
  %16 = getelementptr inbounds i64, ptr %15, i64 %14
  %17 = load i64, ptr %16, align 8
  %18 = load ptr, ptr %9, align 8
  %19 = add nsw i64 %17, 1
  %20 = call i64 %18(ptr %0, i64 %17, i64 %19, ptr %3)
  %21 = icmp eq i64 %20, 0
  br i1 %21, label %22, label %25
22:
  %23 = load ptr, ptr %12, align 8
  %24 = getelementptr inbounds i64, ptr %23, i64 %14
  store i64 -1, ptr %24, align 8
  br label %28
25:
  %26 = and i64 %20, 1
  %27 = icmp eq i64 %26, 0
  br i1 %27, label %31, label %28
28:
  %29 = add i64 %14, 1
  %30 = icmp eq i64 %29, %2
  br i1 %30, label %31, label %13
31:
  %32 = phi i64 [ 0, %4 ], [ %20, %25 ], [ 0, %28 ]
  ret i64 %32
}
