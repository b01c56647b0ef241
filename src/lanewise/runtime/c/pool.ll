; Made by tests/support/clang.py of pool.c and runtime.h: 4dcdff289cbf5a639e5b7ebde2d2d7ae9813c874275486e384721bf28ff8bc2c
%struct.opaque = type { [128 x i8] }
%struct.job = type { i64, [56 x i8], i64, i32, i32, [48 x i8], ptr, ptr, i64, i64, i64, i64, ptr, ptr, i64, i64, ptr, i8, [39 x i8] }
@epoch = internal global i64 0, align 8
@main_thread = internal global i64 0, align 8
@spare = internal global ptr null, align 8
@target = internal global i32 0, align 4
@most_kept = internal global i64 0, align 8
@work = internal global %struct.opaque zeroinitializer, align 64
@jobs = internal global ptr null, align 8
@sleeping = global i32 0, align 4
@workers = global i32 0, align 4
@mutex = internal global %struct.opaque zeroinitializer, align 64
@CLOCK = external constant i32, align 4
@done = internal global %struct.opaque zeroinitializer, align 64
@take = global ptr null, align 8
@give = global ptr null, align 8
@runtime_error = global ptr null, align 8
@LARGE = external constant i64, align 8
@DETACHED = external constant i32, align 4
@FAULTS = external constant [8 x i32], align 16
@SETMASK = external constant i32, align 4
@.str = private constant [66 x i8] c"the process was forked by a signal handler in the middle of a run\00", align 1
define i32 @launch(ptr %0, ptr %1, i64 %2, i64 %3, i64 %4, ptr %5) {
  %7 = alloca [2 x i64], align 16
  %8 = alloca %struct.opaque, align 64
  %9 = alloca %struct.opaque, align 64
  %10 = alloca %struct.opaque, align 64
  %11 = alloca i64, align 8
  %12 = alloca %struct.job, align 64
  store i64 0, ptr %12, align 64
  %13 = getelementptr inbounds i8, ptr %12, i64 8
  call void @llvm.memset.p0.i64(ptr align 8 %13, i8 0, i64 56, i1 false)
  %14 = getelementptr inbounds i8, ptr %12, i64 64
  store i64 9223372036854775807, ptr %14, align 64
  %15 = getelementptr inbounds i8, ptr %12, i64 72
  store i32 0, ptr %15, align 8
  %16 = getelementptr inbounds i8, ptr %12, i64 76
  store i32 0, ptr %16, align 4
  %17 = getelementptr inbounds i8, ptr %12, i64 80
  call void @llvm.memset.p0.i64(ptr align 16 %17, i8 0, i64 48, i1 false)
  %18 = getelementptr inbounds i8, ptr %12, i64 128
  store ptr %0, ptr %18, align 64
  %19 = getelementptr inbounds i8, ptr %12, i64 136
  store ptr %1, ptr %19, align 8
  %20 = getelementptr inbounds i8, ptr %12, i64 144
  store i64 %2, ptr %20, align 16
  %21 = getelementptr inbounds i8, ptr %12, i64 152
  %22 = icmp slt i64 %3, %2
  %23 = call i64 @llvm.smin.i64(i64 %3, i64 %2)
  store i64 %23, ptr %21, align 8
  %24 = getelementptr inbounds i8, ptr %12, i64 160
  store i64 %4, ptr %24, align 32
  %25 = getelementptr inbounds i8, ptr %12, i64 168
  store i64 0, ptr %25, align 8
  %26 = getelementptr inbounds i8, ptr %12, i64 176
  store ptr null, ptr %26, align 16
  %27 = getelementptr inbounds i8, ptr %12, i64 184
  store ptr null, ptr %27, align 8
  %28 = getelementptr inbounds i8, ptr %12, i64 192
  store i64 0, ptr %28, align 64
  %29 = getelementptr inbounds i8, ptr %12, i64 200
  %30 = load i64, ptr @epoch, align 8
  store i64 %30, ptr %29, align 8
  %31 = getelementptr inbounds i8, ptr %12, i64 208
  store ptr %1, ptr %31, align 16
  %32 = getelementptr inbounds i8, ptr %12, i64 216
  %33 = call i64 @PyThread_get_thread_ident()
  %34 = load i64, ptr @main_thread, align 8
  %35 = icmp eq i64 %33, %34
  %36 = zext i1 %35 to i8
  store i8 %36, ptr %32, align 8
  %37 = getelementptr inbounds i8, ptr %12, i64 217
  call void @llvm.memset.p0.i64(ptr align 1 %37, i8 0, i64 39, i1 false)
  %38 = icmp eq i64 %4, 0
  br i1 %38, label %46, label %39
39:
  %40 = atomicrmw xchg ptr @spare, i64 0 seq_cst, align 8
  %41 = inttoptr i64 %40 to ptr
  %42 = call ptr @scratch_fit(ptr %41, i64 %4)
  %43 = icmp eq ptr %42, null
  br i1 %43, label %44, label %46
44:
  %45 = call ptr @PyErr_NoMemory()
  br label %211
46:
  %47 = phi ptr [ %42, %39 ], [ null, %6 ]
  %48 = call ptr @PyEval_SaveThread()
  store ptr %48, ptr %27, align 8
  br i1 %22, label %49, label %190
49:
  %50 = load atomic i32, ptr @target monotonic, align 4
  %51 = icmp slt i32 %50, 1
  br i1 %51, label %190, label %52
52:
  %53 = load ptr, ptr %19, align 8
  %54 = getelementptr inbounds i8, ptr %53, i64 24
  %55 = load i64, ptr %54, align 8
  %56 = call ptr @scratch_fit(ptr null, i64 %55)
  %57 = icmp eq ptr %56, null
  br i1 %57, label %190, label %58
58:
  %59 = load i64, ptr %54, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %56, ptr align 8 %53, i64 %59, i1 false)
  store ptr %56, ptr %31, align 16
  %60 = load i64, ptr %20, align 16
  %61 = add nsw i64 %60, -1
  %62 = load i64, ptr %21, align 8
  %63 = sdiv i64 %61, %62
  %64 = zext i32 %50 to i64
  %65 = call i64 @llvm.smin.i64(i64 %63, i64 %64)
  %66 = trunc i64 %65 to i32
  %67 = call i32 @pthread_mutex_lock(ptr @mutex)
  %68 = load i32, ptr @workers, align 4
  %69 = icmp slt i32 %68, %66
  br i1 %69, label %70, label %101
70:
  %71 = call i32 @pthread_attr_init(ptr %8)
  %72 = load i32, ptr @DETACHED, align 4
  %73 = call i32 @pthread_attr_setdetachstate(ptr %8, i32 %72)
  %74 = call i32 @pthread_attr_setstacksize(ptr %8, i64 8388608)
  %75 = call i32 @sigfillset(ptr %9)
  %76 = load i32, ptr @FAULTS, align 16
  %77 = icmp eq i32 %76, 0
  br i1 %77, label %78, label %83
78:
  %79 = load i32, ptr @SETMASK, align 4
  %80 = call i32 @pthread_sigmask(i32 %79, ptr %9, ptr %10)
  %81 = load i32, ptr @workers, align 4
  %82 = icmp slt i32 %81, %66
  br i1 %82, label %91, label %98
83:
  %84 = phi i64 [ %87, %83 ], [ 0, %70 ]
  %85 = phi i32 [ %89, %83 ], [ %76, %70 ]
  %86 = call i32 @sigdelset(ptr %9, i32 %85)
  %87 = add nsw i64 %84, 1
  %88 = getelementptr inbounds [8 x i32], ptr @FAULTS, i64 0, i64 %87
  %89 = load i32, ptr %88, align 4
  %90 = icmp eq i32 %89, 0
  br i1 %90, label %78, label %83
91:
  %92 = call i32 @pthread_create(ptr %11, ptr %8, ptr @worker, ptr null)
  %93 = icmp eq i32 %92, 0
  br i1 %93, label %94, label %98
94:
  %95 = load i32, ptr @workers, align 4
  %96 = add nsw i32 %95, 1
  store i32 %96, ptr @workers, align 4
  %97 = icmp slt i32 %96, %66
  br i1 %97, label %91, label %98
98:
  %99 = call i32 @pthread_sigmask(i32 %79, ptr %10, ptr null)
  %100 = load i32, ptr @workers, align 4
  br label %101
101:
  %102 = phi i32 [ %68, %58 ], [ %100, %98 ]
  %103 = call i32 @llvm.smin.i32(i32 %102, i32 %66)
  %104 = icmp sgt i32 %103, 0
  br i1 %104, label %105, label %120
105:
  %106 = phi ptr [ %109, %105 ], [ @jobs, %101 ]
  %107 = load ptr, ptr %106, align 8
  %108 = icmp eq ptr %107, null
  %109 = getelementptr inbounds i8, ptr %107, i64 176
  br i1 %108, label %110, label %105
110:
  store ptr %12, ptr %106, align 8
  store i32 %103, ptr %16, align 4
  %111 = load i32, ptr @sleeping, align 4
  %112 = icmp slt i32 %103, %111
  br i1 %112, label %115, label %113
113:
  %114 = call i32 @pthread_cond_broadcast(ptr @work)
  br label %120
115:
  %116 = phi i32 [ %118, %115 ], [ 0, %110 ]
  %117 = call i32 @pthread_cond_signal(ptr @work)
  %118 = add nsw i32 %116, 1
  %119 = icmp eq i32 %118, %103
  br i1 %119, label %120, label %115
120:
  %121 = call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @run_chunks(ptr %12, ptr %56, ptr %47)
  %122 = load i64, ptr %29, align 8
  %123 = load i64, ptr @epoch, align 8
  %124 = icmp eq i64 %122, %123
  br i1 %124, label %125, label %189
125:
  %126 = call i32 @pthread_mutex_lock(ptr @mutex)
  %127 = load ptr, ptr @jobs, align 8
  %128 = icmp eq ptr %127, null
  br i1 %128, label %143, label %129
129:
  %130 = icmp eq ptr %127, %12
  br i1 %130, label %140, label %131
131:
  %132 = phi ptr [ %134, %136 ], [ %127, %129 ]
  %133 = getelementptr inbounds i8, ptr %132, i64 176
  %134 = load ptr, ptr %133, align 8
  %135 = icmp eq ptr %134, null
  br i1 %135, label %143, label %136
136:
  %137 = icmp eq ptr %134, %12
  br i1 %137, label %138, label %131
138:
  %139 = getelementptr inbounds i8, ptr %132, i64 176
  br label %140
140:
  %141 = phi ptr [ @jobs, %129 ], [ %139, %138 ]
  %142 = load ptr, ptr %26, align 16
  store ptr %142, ptr %141, align 8
  br label %143
143:
  %144 = call i32 @pthread_mutex_unlock(ptr @mutex)
  %145 = call i64 @now()
  %146 = add nsw i64 %145, 10000
  %147 = load atomic i32, ptr %15 acquire, align 8
  %148 = icmp eq i32 %147, 0
  br i1 %148, label %155, label %149
149:
  %150 = call i64 @now()
  %151 = icmp slt i64 %150, %146
  br i1 %151, label %152, label %155
152:
  call void @wait_briefly()
  %153 = load atomic i32, ptr %15 acquire, align 8
  %154 = icmp eq i32 %153, 0
  br i1 %154, label %155, label %149
155:
  %156 = call i32 @pthread_mutex_lock(ptr @mutex)
  %157 = load atomic i32, ptr %15 seq_cst, align 8
  %158 = icmp eq i32 %157, 0
  br i1 %158, label %187, label %159
159:
  %160 = getelementptr inbounds i8, ptr %7, i64 8
  br label %161
161:
  %162 = call i64 @now()
  %163 = add nsw i64 %162, 40000000
  %164 = sdiv i64 %163, 1000000000
  store i64 %164, ptr %7, align 16
  %165 = srem i64 %163, 1000000000
  store i64 %165, ptr %160, align 8
  %166 = call i32 @pthread_cond_timedwait(ptr @done, ptr @mutex, ptr %7)
  %167 = load i8, ptr %32, align 8
  %168 = trunc i8 %167 to i1
  br i1 %168, label %169, label %184
169:
  %170 = call i64 @now()
  %171 = load i64, ptr %28, align 64
  %172 = icmp slt i64 %170, %171
  br i1 %172, label %184, label %173
173:
  %174 = load atomic i64, ptr %14 seq_cst, align 64
  %175 = icmp slt i64 %174, 0
  br i1 %175, label %184, label %176
176:
  %177 = call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @handle_signals(ptr %12)
  %178 = load i64, ptr %29, align 8
  %179 = load i64, ptr @epoch, align 8
  %180 = icmp eq i64 %178, %179
  br i1 %180, label %182, label %181
181:
  br label %189
182:
  %183 = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %184
184:
  %185 = load atomic i32, ptr %15 seq_cst, align 8
  %186 = icmp eq i32 %185, 0
  br i1 %186, label %187, label %161
187:
  %188 = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %189
189:
  call void @scratch_free(ptr %56)
  br label %191
190:
  call void @run_chunks(ptr %12, ptr %1, ptr %47)
  br label %191
191:
  %192 = load ptr, ptr %27, align 8
  call void @PyEval_RestoreThread(ptr %192)
  br i1 %38, label %206, label %193
193:
  %194 = load atomic i64, ptr @most_kept monotonic, align 8
  %195 = icmp eq ptr %47, null
  br i1 %195, label %200, label %196
196:
  %197 = getelementptr inbounds i8, ptr %47, i64 -8
  %198 = load i64, ptr %197, align 8
  %199 = icmp sgt i64 %198, %194
  br i1 %199, label %200, label %201
200:
  call void @scratch_free(ptr %47)
  br label %201
201:
  %202 = phi ptr [ null, %200 ], [ %47, %196 ]
  %203 = ptrtoint ptr %202 to i64
  %204 = atomicrmw xchg ptr @spare, i64 %203 seq_cst, align 8
  %205 = inttoptr i64 %204 to ptr
  call void @scratch_free(ptr %205)
  br label %206
206:
  %207 = load atomic i64, ptr %14 seq_cst, align 64
  %208 = icmp slt i64 %207, 0
  br i1 %208, label %211, label %209
209:
  %210 = load i64, ptr %25, align 8
  store i64 %210, ptr %5, align 8
  br label %211
211:
  %212 = phi i32 [ -1, %44 ], [ 0, %209 ], [ -1, %206 ]
  ret i32 %212
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @PyThread_get_thread_ident()
define internal ptr @scratch_fit(ptr %0, i64 %1) {
  %3 = icmp eq ptr %0, null
  br i1 %3, label %8, label %4
4:
  %5 = getelementptr inbounds i8, ptr %0, i64 -8
  %6 = load i64, ptr %5, align 8
  %7 = icmp slt i64 %6, %1
  br i1 %7, label %8, label %29
8:
  call void @scratch_free(ptr %0)
  %9 = load ptr, ptr @take, align 8
  %10 = icmp eq ptr %9, null
  %11 = load i64, ptr @LARGE, align 8
  %12 = icmp slt i64 %1, %11
  %13 = select i1 %10, i1 true, i1 %12
  %14 = add nsw i64 %1, 128
  br i1 %13, label %17, label %15
15:
  %16 = call ptr %9(ptr null, i64 %14)
  br label %19
17:
  %18 = call ptr @malloc(i64 %14)
  br label %19
19:
  %20 = phi ptr [ %16, %15 ], [ %18, %17 ]
  %21 = icmp eq ptr %20, null
  br i1 %21, label %29, label %22
22:
  %23 = ptrtoint ptr %20 to i64
  %24 = add nsw i64 %23, 127
  %25 = and i64 %24, -64
  %26 = inttoptr i64 %25 to ptr
  %27 = getelementptr inbounds i8, ptr %26, i64 -16
  store ptr %20, ptr %27, align 16
  %28 = getelementptr inbounds i8, ptr %26, i64 -8
  store i64 %1, ptr %28, align 8
  br label %29
29:
  %30 = phi ptr [ %0, %4 ], [ %26, %22 ], [ null, %19 ]
  ret ptr %30
}
declare ptr @PyErr_NoMemory()
declare ptr @PyEval_SaveThread()
define internal void @run_chunks(ptr %0, ptr %1, ptr %2) {
  store ptr @poll, ptr %1, align 8
  %4 = getelementptr inbounds i8, ptr %1, i64 8
  store ptr %0, ptr %4, align 8
  %5 = getelementptr inbounds i8, ptr %0, i64 152
  %6 = getelementptr inbounds i8, ptr %0, i64 144
  %7 = getelementptr inbounds i8, ptr %0, i64 64
  %8 = getelementptr inbounds i8, ptr %1, i64 16
  %9 = getelementptr inbounds i8, ptr %0, i64 128
  br label %10
10:
  %11 = load i64, ptr %5, align 8
  %12 = atomicrmw add ptr %0, i64 %11 seq_cst, align 64
  %13 = load i64, ptr %6, align 16
  %14 = icmp slt i64 %12, %13
  br i1 %14, label %15, label %52
15:
  %16 = load atomic i64, ptr %7 seq_cst, align 64
  %17 = icmp slt i64 %16, %12
  br i1 %17, label %52, label %18
18:
  store i64 %12, ptr %8, align 8
  %19 = load i64, ptr %5, align 8
  %20 = add nsw i64 %19, %12
  %21 = load i64, ptr %6, align 16
  %22 = call i64 @llvm.smin.i64(i64 %20, i64 %21)
  %23 = load ptr, ptr %9, align 64
  %24 = call i64 %23(ptr %1, i64 %12, i64 %22, ptr %2)
  %25 = icmp eq i64 %24, 0
  br i1 %25, label %46, label %26
26:
  %27 = call i32 @pthread_mutex_lock(ptr @mutex)
  %28 = load atomic i64, ptr %7 seq_cst, align 64
  %29 = icmp slt i64 %12, %28
  br i1 %29, label %30, label %44
30:
  %31 = cmpxchg ptr %7, i64 %28, i64 %12 seq_cst seq_cst, align 64
  %32 = extractvalue { i64, i1 } %31, 1
  br i1 %32, label %33, label %44
33:
  %34 = getelementptr inbounds i8, ptr %0, i64 168
  store i64 %24, ptr %34, align 8
  %35 = getelementptr inbounds i8, ptr %0, i64 136
  %36 = load ptr, ptr %35, align 8
  %37 = icmp eq ptr %36, %1
  br i1 %37, label %44, label %38
38:
  %39 = getelementptr inbounds i8, ptr %36, i64 32
  %40 = getelementptr inbounds i8, ptr %1, i64 32
  %41 = getelementptr inbounds i8, ptr %1, i64 24
  %42 = load i64, ptr %41, align 8
  %43 = add i64 %42, -32
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %39, ptr align 8 %40, i64 %43, i1 false)
  br label %44
44:
  %45 = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %52
46:
  %47 = load i64, ptr %6, align 16
  %48 = icmp slt i64 %22, %47
  br i1 %48, label %49, label %52
49:
  %50 = call i32 @poll(ptr %1)
  %51 = icmp eq i32 %50, 0
  br i1 %51, label %10, label %52
52:
  ret void
}
declare void @PyEval_RestoreThread(ptr)
define internal void @scratch_free(ptr %0) {
  %2 = icmp eq ptr %0, null
  br i1 %2, label %16, label %3
3:
  %4 = getelementptr inbounds i8, ptr %0, i64 -16
  %5 = load ptr, ptr @give, align 8
  %6 = icmp eq ptr %5, null
  br i1 %6, label %14, label %7
7:
  %8 = getelementptr inbounds i8, ptr %0, i64 -8
  %9 = load i64, ptr %8, align 8
  %10 = load i64, ptr @LARGE, align 8
  %11 = icmp slt i64 %9, %10
  br i1 %11, label %14, label %12
12:
  %13 = load ptr, ptr %4, align 8
  call void %5(ptr null, ptr %13, i64 %9)
  br label %16
14:
  %15 = load ptr, ptr %4, align 8
  call void @free(ptr %15)
  br label %16
16:
  ret void
}
define void @resize(i32 %0, i64 %1) {
  %3 = call i32 @pthread_mutex_lock(ptr @mutex)
  store atomic i64 %1, ptr @most_kept monotonic, align 8
  store atomic i32 %0, ptr @target seq_cst, align 4
  %4 = call i32 @pthread_cond_broadcast(ptr @work)
  %5 = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}
declare i32 @pthread_cond_broadcast(ptr)
define void @reset(i64 %0) {
  %2 = alloca %struct.opaque, align 64
  store i64 %0, ptr @main_thread, align 8
  %3 = load i64, ptr @epoch, align 8
  %4 = add nsw i64 %3, 1
  store i64 %4, ptr @epoch, align 8
  store ptr null, ptr @jobs, align 8
  store i32 0, ptr @sleeping, align 4
  store i32 0, ptr @workers, align 4
  %5 = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %6 = call i32 @pthread_cond_init(ptr @work, ptr null)
  %7 = call i32 @pthread_condattr_init(ptr %2)
  %8 = load i32, ptr @CLOCK, align 4
  %9 = call i32 @pthread_condattr_setclock(ptr %2, i32 %8)
  %10 = call i32 @pthread_cond_init(ptr @done, ptr %2)
  ret void
}
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_condattr_init(ptr)
declare i32 @pthread_condattr_setclock(ptr, i32)
declare ptr @malloc(i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setdetachstate(ptr, i32)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @sigfillset(ptr)
declare i32 @sigdelset(ptr, i32)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
define internal ptr @worker(ptr %0) {
  %2 = call i32 @pthread_mutex_lock(ptr @mutex)
  %3 = load i32, ptr @workers, align 4
  %4 = load atomic i32, ptr @target monotonic, align 4
  %5 = icmp sgt i32 %3, %4
  br i1 %5, label %84, label %6
6:
  %7 = phi ptr [ %80, %78 ], [ null, %1 ]
  %8 = phi ptr [ %79, %78 ], [ null, %1 ]
  %9 = load ptr, ptr @jobs, align 8
  %10 = icmp eq ptr %9, null
  br i1 %10, label %11, label %17
11:
  %12 = load i32, ptr @sleeping, align 4
  %13 = add nsw i32 %12, 1
  store i32 %13, ptr @sleeping, align 4
  %14 = call i32 @pthread_cond_wait(ptr @work, ptr @mutex)
  %15 = load i32, ptr @sleeping, align 4
  %16 = add nsw i32 %15, -1
  store i32 %16, ptr @sleeping, align 4
  br label %78
17:
  %18 = getelementptr inbounds i8, ptr %9, i64 72
  %19 = atomicrmw add ptr %18, i32 1 seq_cst, align 8
  %20 = getelementptr inbounds i8, ptr %9, i64 76
  %21 = load i32, ptr %20, align 4
  %22 = add nsw i32 %21, -1
  store i32 %22, ptr %20, align 4
  %23 = icmp ne i32 %22, 0
  %24 = load ptr, ptr @jobs, align 8
  %25 = icmp eq ptr %24, null
  %26 = select i1 %23, i1 true, i1 %25
  br i1 %26, label %42, label %27
27:
  %28 = icmp eq ptr %24, %9
  br i1 %28, label %38, label %29
29:
  %30 = phi ptr [ %32, %34 ], [ %24, %27 ]
  %31 = getelementptr inbounds i8, ptr %30, i64 176
  %32 = load ptr, ptr %31, align 8
  %33 = icmp eq ptr %32, null
  br i1 %33, label %42, label %34
34:
  %35 = icmp eq ptr %32, %9
  br i1 %35, label %36, label %29
36:
  %37 = getelementptr inbounds i8, ptr %30, i64 176
  br label %38
38:
  %39 = phi ptr [ @jobs, %27 ], [ %37, %36 ]
  %40 = getelementptr inbounds i8, ptr %9, i64 176
  %41 = load ptr, ptr %40, align 16
  store ptr %41, ptr %39, align 8
  br label %42
42:
  %43 = getelementptr inbounds i8, ptr %9, i64 136
  %44 = load ptr, ptr %43, align 8
  %45 = getelementptr inbounds i8, ptr %44, i64 24
  %46 = load i64, ptr %45, align 8
  %47 = call ptr @scratch_fit(ptr %8, i64 %46)
  %48 = icmp ne ptr %47, null
  br i1 %48, label %49, label %53
49:
  %50 = load ptr, ptr %43, align 8
  %51 = getelementptr inbounds i8, ptr %50, i64 24
  %52 = load i64, ptr %51, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %47, ptr align 8 %50, i64 %52, i1 false)
  br label %53
53:
  %54 = call i32 @pthread_mutex_unlock(ptr @mutex)
  %55 = getelementptr inbounds i8, ptr %9, i64 160
  %56 = load i64, ptr %55, align 32
  %57 = call ptr @scratch_fit(ptr %7, i64 %56)
  %58 = icmp ne ptr %57, null
  %59 = select i1 %48, i1 %58, i1 false
  br i1 %59, label %60, label %62
60:
  call void @run_chunks(ptr %9, ptr %47, ptr %57)
  %61 = load atomic i64, ptr @most_kept monotonic, align 8
  br label %65
62:
  %63 = load atomic i64, ptr @most_kept monotonic, align 8
  %64 = icmp eq ptr %57, null
  br i1 %64, label %70, label %65
65:
  %66 = phi i64 [ %61, %60 ], [ %63, %62 ]
  %67 = getelementptr inbounds i8, ptr %57, i64 -8
  %68 = load i64, ptr %67, align 8
  %69 = icmp sgt i64 %68, %66
  br i1 %69, label %70, label %71
70:
  call void @scratch_free(ptr %57)
  br label %71
71:
  %72 = phi ptr [ null, %70 ], [ %57, %65 ]
  %73 = call i32 @pthread_mutex_lock(ptr @mutex)
  %74 = atomicrmw sub ptr %18, i32 1 seq_cst, align 8
  %75 = icmp eq i32 %74, 1
  br i1 %75, label %76, label %78
76:
  %77 = call i32 @pthread_cond_broadcast(ptr @done)
  br label %78
78:
  %79 = phi ptr [ %8, %11 ], [ %47, %76 ], [ %47, %71 ]
  %80 = phi ptr [ %7, %11 ], [ %72, %76 ], [ %72, %71 ]
  %81 = load i32, ptr @workers, align 4
  %82 = load atomic i32, ptr @target monotonic, align 4
  %83 = icmp sgt i32 %81, %82
  br i1 %83, label %84, label %6
84:
  %85 = phi ptr [ null, %1 ], [ %79, %78 ]
  %86 = phi ptr [ null, %1 ], [ %80, %78 ]
  %87 = phi i32 [ %3, %1 ], [ %81, %78 ]
  %88 = add nsw i32 %87, -1
  store i32 %88, ptr @workers, align 4
  %89 = call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @scratch_free(ptr %86)
  call void @scratch_free(ptr %85)
  ret ptr null
}
declare i32 @pthread_cond_wait(ptr, ptr)
define internal i64 @now() {
  %1 = alloca [2 x i64], align 16
  %2 = load i32, ptr @CLOCK, align 4
  %3 = call i32 @clock_gettime(i32 %2, ptr %1)
  %4 = icmp eq i32 %3, 0
  br i1 %4, label %8, label %5
5:
  %6 = call i64 @GetTickCount64()
  %7 = mul nsw i64 %6, 1000000
  br label %14
8:
  %9 = load i64, ptr %1, align 16
  %10 = mul nsw i64 %9, 1000000000
  %11 = getelementptr inbounds i8, ptr %1, i64 8
  %12 = load i64, ptr %11, align 8
  %13 = add nsw i64 %10, %12
  br label %14
14:
  %15 = phi i64 [ %7, %5 ], [ %13, %8 ]
  ret i64 %15
}
declare void @wait_briefly()
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
define internal void @handle_signals(ptr %0) {
  %2 = getelementptr inbounds i8, ptr %0, i64 184
  %3 = load ptr, ptr %2, align 8
  call void @PyEval_RestoreThread(ptr %3)
  %4 = call i32 @PyErr_CheckSignals()
  %5 = icmp eq i32 %4, 0
  br i1 %5, label %6, label %13
6:
  %7 = getelementptr inbounds i8, ptr %0, i64 200
  %8 = load i64, ptr %7, align 8
  %9 = load i64, ptr @epoch, align 8
  %10 = icmp eq i64 %8, %9
  br i1 %10, label %15, label %11
11:
  %12 = load ptr, ptr @runtime_error, align 8
  call void @PyErr_SetString(ptr %12, ptr @.str)
  br label %13
13:
  %14 = getelementptr inbounds i8, ptr %0, i64 64
  store atomic i64 -1, ptr %14 seq_cst, align 64
  br label %15
15:
  %16 = call ptr @PyEval_SaveThread()
  store ptr %16, ptr %2, align 8
  %17 = call i64 @now()
  %18 = add nsw i64 %17, 40000000
  %19 = getelementptr inbounds i8, ptr %0, i64 192
  store i64 %18, ptr %19, align 64
  ret void
}
declare i32 @clock_gettime(i32, ptr)
declare i64 @GetTickCount64()
declare i32 @PyErr_CheckSignals()
declare void @PyErr_SetString(ptr, ptr)
define internal i32 @poll(ptr %0) {
  %2 = getelementptr inbounds i8, ptr %0, i64 8
  %3 = load ptr, ptr %2, align 8
  %4 = getelementptr inbounds i8, ptr %0, i64 16
  %5 = load i64, ptr %4, align 8
  %6 = getelementptr inbounds i8, ptr %3, i64 64
  %7 = load atomic i64, ptr %6 monotonic, align 64
  %8 = icmp slt i64 %7, %5
  br i1 %8, label %30, label %9
9:
  %10 = getelementptr inbounds i8, ptr %3, i64 208
  %11 = load ptr, ptr %10, align 16
  %12 = icmp eq ptr %11, %0
  br i1 %12, label %13, label %30
13:
  %14 = getelementptr inbounds i8, ptr %3, i64 216
  %15 = load i8, ptr %14, align 8
  %16 = trunc i8 %15 to i1
  br i1 %16, label %17, label %30
17:
  %18 = call i64 @now()
  %19 = getelementptr inbounds i8, ptr %3, i64 192
  %20 = load i64, ptr %19, align 64
  %21 = icmp eq i64 %20, 0
  br i1 %21, label %22, label %24
22:
  %23 = add nsw i64 %18, 40000000
  store i64 %23, ptr %19, align 64
  br label %30
24:
  %25 = icmp slt i64 %18, %20
  br i1 %25, label %30, label %26
26:
  call void @handle_signals(ptr %3)
  %27 = load atomic i64, ptr %6 seq_cst, align 64
  %28 = icmp slt i64 %27, %5
  %29 = zext i1 %28 to i32
  br label %30
30:
  %31 = phi i32 [ 1, %1 ], [ 0, %13 ], [ 0, %9 ], [ %29, %26 ], [ 0, %24 ], [ 0, %22 ]
  ret i32 %31
}
declare void @free(ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare i32 @llvm.smin.i32(i32, i32)
