; Made by tests/support/clang.py of launch.c and runtime.h: 3aa4b0341d0f818e372188c5af6c71f15b9a908766495f275a37804cbc69f4d8
%struct.anon = type { ptr, i32 }
@none = global ptr null, align 8
@type_error = global ptr null, align 8
@.str = private constant [37 x i8] c"an array does not fit a compiled map\00", align 1
@array_type = global ptr null, align 8
@int_type = global ptr null, align 8
@large = global ptr null, align 8
@np_new = global ptr null, align 8
@np_transpose = global ptr null, align 8
@run = global ptr null, align 8
@HEAD = external constant i64, align 8
@LARGE = external constant i64, align 8
define ptr @launch(ptr %0, ptr %1, i64 %2) {
  %4 = call ptr @PyTuple_GetItem(ptr %0, i64 0)
  %5 = call ptr @PySequence_GetItem(ptr %4, i64 0)
  %6 = load ptr, ptr @none, align 8
  %7 = icmp eq ptr %5, %6
  br i1 %7, label %8, label %9
8:
  call void @Py_DecRef(ptr %5)
  br label %15
9:
  %10 = call ptr @PyTuple_GetItem(ptr %5, i64 0)
  %11 = call ptr @PyBytes_AsString(ptr %10)
  %12 = call ptr @PyTuple_GetItem(ptr %5, i64 1)
  %13 = call ptr @attempt(ptr %11, ptr %1, i64 %2, ptr %12)
  call void @Py_DecRef(ptr %5)
  %14 = icmp eq ptr %13, inttoptr (i64 1 to ptr)
  br i1 %14, label %15, label %23
15:
  %16 = call ptr @PyTuple_GetItem(ptr %0, i64 1)
  %17 = load ptr, ptr @none, align 8
  %18 = icmp eq ptr %16, %17
  br i1 %18, label %21, label %19
19:
  %20 = call ptr @PyObject_Vectorcall(ptr %16, ptr %1, i64 %2, ptr null)
  br label %23
21:
  %22 = load ptr, ptr @type_error, align 8
  call void @PyErr_SetString(ptr %22, ptr @.str)
  br label %23
23:
  %24 = phi ptr [ %13, %9 ], [ %20, %19 ], [ null, %21 ]
  ret ptr %24
}
declare ptr @PySequence_GetItem(ptr, i64)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyBytes_AsString(ptr)
define internal ptr @attempt(ptr %0, ptr %1, i64 %2, ptr %3) {
  %5 = alloca [65 x i64], align 16
  %6 = alloca [2 x ptr], align 16
  %7 = alloca [65 x i64], align 16
  %8 = alloca %struct.anon, align 8
  %9 = alloca i64, align 8
  %10 = getelementptr inbounds i8, ptr %0, i64 8
  %11 = load i64, ptr %10, align 8
  %12 = getelementptr inbounds i8, ptr %0, i64 16
  %13 = load i64, ptr %12, align 8
  %14 = xor i64 %11, -1
  %15 = add i64 %2, %14
  %16 = icmp eq i64 %15, 0
  %17 = icmp eq i64 %15, %13
  %18 = select i1 %16, i1 true, i1 %17
  br i1 %18, label %19, label %316
19:
  %20 = load ptr, ptr %1, align 8
  %21 = load ptr, ptr @int_type, align 8
  %22 = load i64, ptr @HEAD, align 8
  %23 = getelementptr inbounds i8, ptr %20, i64 %22
  %24 = getelementptr inbounds i8, ptr %23, i64 -8
  %25 = load ptr, ptr %24, align 8
  %26 = icmp eq ptr %25, %21
  br i1 %26, label %27, label %29
27:
  %28 = call i64 @PyLong_AsLongLong(ptr %20)
  br label %54
29:
  %30 = getelementptr inbounds i8, ptr %0, i64 56
  %31 = load i64, ptr %30, align 8
  %32 = icmp slt i64 %31, 0
  br i1 %32, label %316, label %33
33:
  %34 = getelementptr inbounds ptr, ptr %1, i64 %31
  %35 = getelementptr inbounds i8, ptr %34, i64 8
  %36 = load ptr, ptr %35, align 8
  %37 = load ptr, ptr @array_type, align 8
  %38 = getelementptr inbounds i8, ptr %36, i64 %22
  %39 = getelementptr inbounds i8, ptr %38, i64 -8
  %40 = load ptr, ptr %39, align 8
  %41 = icmp eq ptr %40, %37
  br i1 %41, label %42, label %316
42:
  %43 = getelementptr inbounds i8, ptr %0, i64 72
  %44 = load i64, ptr %43, align 8
  %45 = getelementptr inbounds i8, ptr %38, i64 8
  %46 = load i32, ptr %45, align 8
  %47 = sext i32 %46 to i64
  %48 = icmp slt i64 %44, %47
  br i1 %48, label %49, label %316
49:
  %50 = getelementptr inbounds i8, ptr %38, i64 16
  %51 = load ptr, ptr %50, align 8
  %52 = getelementptr inbounds i64, ptr %51, i64 %44
  %53 = load i64, ptr %52, align 8
  br label %54
54:
  %55 = phi i64 [ %28, %27 ], [ %53, %49 ]
  %56 = icmp slt i64 %55, 0
  br i1 %56, label %316, label %57
57:
  %58 = add nsw i64 %13, %11
  %59 = getelementptr inbounds i8, ptr %0, i64 80
  %60 = load i64, ptr %59, align 8
  %61 = add nsw i64 %58, %60
  %62 = shl i64 %61, 3
  %63 = add i64 %62, 40
  %64 = alloca i8, i64 %63, align 64
  %65 = getelementptr inbounds i8, ptr %64, i64 32
  %66 = getelementptr ptr, ptr %65, i64 %11
  %67 = getelementptr inbounds ptr, ptr %66, i64 %13
  %68 = getelementptr inbounds i8, ptr %0, i64 88
  %69 = icmp sgt i64 %11, 0
  br i1 %69, label %70, label %167
70:
  %71 = icmp eq i64 %55, 0
  %72 = load ptr, ptr @array_type, align 8
  br label %73
73:
  %74 = phi ptr [ %67, %70 ], [ %163, %156 ]
  %75 = phi ptr [ %68, %70 ], [ %165, %156 ]
  %76 = phi i64 [ 0, %70 ], [ %77, %156 ]
  %77 = add nsw i64 %76, 1
  %78 = getelementptr inbounds ptr, ptr %1, i64 %77
  %79 = load ptr, ptr %78, align 8
  %80 = getelementptr inbounds i8, ptr %79, i64 %22
  %81 = getelementptr inbounds i8, ptr %80, i64 -8
  %82 = load ptr, ptr %81, align 8
  %83 = icmp eq ptr %82, %72
  br i1 %83, label %84, label %316
84:
  %85 = getelementptr inbounds i8, ptr %75, i64 16
  %86 = load i64, ptr %85, align 8
  %87 = icmp eq i64 %86, 0
  %88 = getelementptr inbounds i8, ptr %80, i64 48
  %89 = load i32, ptr %88, align 8
  %90 = select i1 %87, i32 -258, i32 -257
  %91 = or i32 %90, %89
  %92 = icmp eq i32 %91, -1
  br i1 %92, label %93, label %316
93:
  %94 = getelementptr inbounds i8, ptr %80, i64 40
  %95 = load ptr, ptr %94, align 8
  %96 = load ptr, ptr %75, align 8
  %97 = icmp eq ptr %95, %96
  br i1 %97, label %98, label %316
98:
  %99 = getelementptr inbounds i8, ptr %75, i64 8
  %100 = load i64, ptr %99, align 8
  %101 = getelementptr inbounds i8, ptr %80, i64 8
  %102 = load i32, ptr %101, align 8
  %103 = sext i32 %102 to i64
  %104 = getelementptr inbounds i8, ptr %75, i64 24
  %105 = load i64, ptr %104, align 8
  %106 = icmp sgt i64 %100, -1
  %107 = zext i1 %106 to i64
  %108 = add nsw i64 %105, %107
  %109 = icmp eq i64 %108, %103
  br i1 %109, label %110, label %316
110:
  br i1 %106, label %111, label %125
111:
  %112 = getelementptr inbounds i8, ptr %80, i64 16
  %113 = load ptr, ptr %112, align 8
  %114 = getelementptr inbounds i64, ptr %113, i64 %100
  %115 = load i64, ptr %114, align 8
  %116 = icmp eq i64 %115, %55
  br i1 %116, label %117, label %316
117:
  br i1 %87, label %125, label %118
118:
  %119 = getelementptr inbounds i8, ptr %80, i64 24
  %120 = load ptr, ptr %119, align 8
  %121 = getelementptr inbounds i64, ptr %120, i64 %100
  %122 = load i64, ptr %121, align 8
  %123 = icmp eq i64 %122, %86
  %124 = or i1 %71, %123
  br i1 %124, label %125, label %316
125:
  %126 = icmp slt i64 %105, 1
  br i1 %126, label %156, label %127
127:
  %128 = getelementptr inbounds i8, ptr %80, i64 16
  %129 = getelementptr inbounds i8, ptr %75, i64 32
  %130 = getelementptr inbounds i8, ptr %80, i64 24
  br label %131
131:
  %132 = phi i64 [ %105, %127 ], [ %151, %150 ]
  %133 = phi i64 [ 0, %127 ], [ %152, %150 ]
  %134 = icmp ule i64 %100, %133
  %135 = zext i1 %134 to i64
  %136 = add nsw i64 %133, %135
  %137 = load ptr, ptr %128, align 8
  %138 = getelementptr inbounds i64, ptr %137, i64 %136
  %139 = load i64, ptr %138, align 8
  %140 = getelementptr inbounds [0 x i64], ptr %129, i64 0, i64 %133
  %141 = load i64, ptr %140, align 8
  %142 = icmp eq i64 %139, %141
  br i1 %142, label %143, label %316
143:
  br i1 %87, label %150, label %144
144:
  %145 = load ptr, ptr %130, align 8
  %146 = getelementptr inbounds i64, ptr %145, i64 %136
  %147 = load i64, ptr %146, align 8
  %148 = getelementptr inbounds i64, ptr %74, i64 %133
  store i64 %147, ptr %148, align 8
  %149 = load i64, ptr %104, align 8
  br label %150
150:
  %151 = phi i64 [ %149, %144 ], [ %132, %143 ]
  %152 = add nsw i64 %133, 1
  %153 = icmp slt i64 %152, %151
  br i1 %153, label %131, label %154
154:
  %155 = load i64, ptr %85, align 8
  br label %156
156:
  %157 = phi i64 [ %151, %154 ], [ %105, %125 ]
  %158 = phi i64 [ %155, %154 ], [ %86, %125 ]
  %159 = load ptr, ptr %80, align 8
  %160 = getelementptr inbounds ptr, ptr %65, i64 %76
  store ptr %159, ptr %160, align 8
  %161 = icmp eq i64 %158, 0
  %162 = select i1 %161, i64 0, i64 %157
  %163 = getelementptr inbounds i64, ptr %74, i64 %162
  %164 = getelementptr inbounds i8, ptr %75, i64 32
  %165 = getelementptr inbounds i64, ptr %164, i64 %157
  %166 = icmp eq i64 %77, %11
  br i1 %166, label %167, label %73
167:
  %168 = phi ptr [ %68, %57 ], [ %165, %156 ]
  %169 = phi ptr [ %67, %57 ], [ %163, %156 ]
  %170 = call ptr @PyTuple_New(i64 %13)
  %171 = icmp eq ptr %170, null
  br i1 %171, label %316, label %172
172:
  %173 = icmp sgt i64 %13, 0
  br i1 %173, label %174, label %275
174:
  %175 = getelementptr ptr, ptr %1, i64 %11
  %176 = getelementptr i8, ptr %175, i64 8
  %177 = load i64, ptr @LARGE, align 8
  %178 = icmp slt i64 %55, %177
  %179 = getelementptr inbounds i8, ptr %6, i64 8
  %180 = getelementptr inbounds i8, ptr %8, i64 8
  %181 = getelementptr inbounds i8, ptr %8, i64 12
  br label %182
182:
  %183 = phi i64 [ 0, %174 ], [ %273, %258 ]
  %184 = phi ptr [ %169, %174 ], [ %270, %258 ]
  %185 = phi ptr [ %168, %174 ], [ %272, %258 ]
  br i1 %16, label %186, label %253
186:
  %187 = getelementptr inbounds i8, ptr %185, i64 8
  %188 = load i64, ptr %187, align 8
  %189 = getelementptr inbounds i8, ptr %185, i64 24
  %190 = load i64, ptr %189, align 8
  %191 = add nsw i64 %190, 1
  %192 = getelementptr inbounds i8, ptr %185, i64 16
  %193 = load i64, ptr %192, align 8
  %194 = icmp eq i64 %193, 0
  %195 = select i1 %194, i64 0, i64 %190
  %196 = getelementptr inbounds [65 x i64], ptr %5, i64 0, i64 %195
  store i64 %55, ptr %196, align 8
  %197 = zext i1 %194 to i64
  %198 = getelementptr inbounds i64, ptr %5, i64 %197
  %199 = getelementptr inbounds i8, ptr %185, i64 32
  %200 = shl i64 %190, 3
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %198, ptr align 8 %199, i64 %200, i1 false)
  %201 = icmp slt i64 %188, %177
  %202 = select i1 %178, i1 %201, i1 false
  %203 = mul nsw i64 %188, %55
  %204 = icmp slt i64 %203, %177
  %205 = select i1 %202, i1 %204, i1 false
  br i1 %205, label %206, label %213
206:
  %207 = load ptr, ptr %185, align 8
  call void @Py_IncRef(ptr %207)
  %208 = load ptr, ptr @np_new, align 8
  %209 = load ptr, ptr @array_type, align 8
  %210 = load ptr, ptr %185, align 8
  %211 = trunc i64 %191 to i32
  %212 = call ptr %208(ptr %209, ptr %210, i32 %211, ptr %5, ptr null, ptr null, i32 0, ptr null)
  br label %224
213:
  %214 = shl i64 %191, 3
  %215 = call ptr @PyBytes_FromStringAndSize(ptr %5, i64 %214)
  store ptr %215, ptr %6, align 16
  %216 = load ptr, ptr %185, align 8
  store ptr %216, ptr %179, align 8
  %217 = icmp eq ptr %215, null
  br i1 %217, label %222, label %218
218:
  %219 = load ptr, ptr @large, align 8
  %220 = call ptr @PyObject_Vectorcall(ptr %219, ptr %6, i64 2, ptr null)
  %221 = load ptr, ptr %6, align 16
  call void @Py_DecRef(ptr %221)
  br label %222
222:
  %223 = phi ptr [ %220, %218 ], [ null, %213 ]
  br label %224
224:
  %225 = phi ptr [ %212, %206 ], [ %223, %222 ]
  %226 = icmp eq ptr %225, null
  br i1 %226, label %314, label %227
227:
  %228 = load i64, ptr %192, align 8
  %229 = icmp eq i64 %228, 0
  br i1 %229, label %258, label %230
230:
  call void @llvm.memset.p0.i64(ptr align 16 %7, i8 0, i64 520, i1 false)
  %231 = load i64, ptr %189, align 8
  store i64 %231, ptr %7, align 16
  %232 = icmp sgt i64 %231, 0
  br i1 %232, label %233, label %246
233:
  %234 = getelementptr i8, ptr %225, i64 24
  %235 = getelementptr i8, ptr %234, i64 %22
  br label %236
236:
  %237 = phi i64 [ 0, %233 ], [ %238, %236 ]
  %238 = add nsw i64 %237, 1
  %239 = getelementptr inbounds [65 x i64], ptr %7, i64 0, i64 %238
  store i64 %237, ptr %239, align 8
  %240 = load ptr, ptr %235, align 8
  %241 = getelementptr inbounds i64, ptr %240, i64 %237
  %242 = load i64, ptr %241, align 8
  %243 = getelementptr inbounds i64, ptr %184, i64 %237
  store i64 %242, ptr %243, align 8
  %244 = load i64, ptr %189, align 8
  %245 = icmp slt i64 %238, %244
  br i1 %245, label %236, label %246
246:
  %247 = phi i64 [ %231, %230 ], [ %244, %236 ]
  store ptr %7, ptr %8, align 8
  %248 = trunc i64 %247 to i32
  %249 = add nsw i32 %248, 1
  store i32 %249, ptr %180, align 8
  store i32 0, ptr %181, align 4
  %250 = load ptr, ptr @np_transpose, align 8
  %251 = call ptr %250(ptr %225, ptr %8)
  call void @Py_DecRef(ptr %225)
  %252 = icmp eq ptr %251, null
  br i1 %252, label %314, label %258
253:
  %254 = getelementptr ptr, ptr %176, i64 %183
  %255 = load ptr, ptr %254, align 8
  %256 = icmp eq ptr %255, null
  br i1 %256, label %314, label %257
257:
  call void @Py_IncRef(ptr %255)
  br label %258
258:
  %259 = phi ptr [ %255, %257 ], [ %225, %227 ], [ %251, %246 ]
  %260 = call i32 @PyTuple_SetItem(ptr %170, i64 %183, ptr %259)
  %261 = getelementptr inbounds i8, ptr %259, i64 %22
  %262 = load ptr, ptr %261, align 8
  %263 = getelementptr ptr, ptr %66, i64 %183
  store ptr %262, ptr %263, align 8
  %264 = getelementptr inbounds i8, ptr %185, i64 16
  %265 = load i64, ptr %264, align 8
  %266 = icmp eq i64 %265, 0
  %267 = getelementptr inbounds i8, ptr %185, i64 24
  %268 = load i64, ptr %267, align 8
  %269 = select i1 %266, i64 0, i64 %268
  %270 = getelementptr inbounds i64, ptr %184, i64 %269
  %271 = getelementptr inbounds i8, ptr %185, i64 32
  %272 = getelementptr inbounds i64, ptr %271, i64 %268
  %273 = add nsw i64 %183, 1
  %274 = icmp eq i64 %273, %13
  br i1 %274, label %275, label %182
275:
  %276 = icmp eq i64 %55, 0
  br i1 %276, label %316, label %277
277:
  call void @llvm.memset.p0.i64(ptr align 64 %64, i8 0, i64 24, i1 false)
  %278 = getelementptr inbounds i8, ptr %64, i64 24
  store i64 %63, ptr %278, align 8
  %279 = load ptr, ptr @run, align 8
  %280 = load ptr, ptr %0, align 8
  %281 = getelementptr inbounds i8, ptr %0, i64 40
  %282 = load i64, ptr %281, align 8
  %283 = icmp sgt i64 %55, %282
  br i1 %283, label %284, label %302
284:
  %285 = getelementptr inbounds i8, ptr %0, i64 32
  %286 = load i64, ptr %285, align 8
  %287 = add nsw i64 %55, -1
  %288 = add i64 %287, %286
  %289 = sdiv i64 %288, %286
  %290 = ashr i64 %289, 6
  %291 = getelementptr inbounds i8, ptr %0, i64 64
  %292 = load i64, ptr %291, align 8
  %293 = ashr i64 %289, %292
  %294 = call i64 @llvm.smin.i64(i64 %293, i64 64)
  %295 = call i64 @llvm.smax.i64(i64 %290, i64 %294)
  %296 = call i64 @llvm.smax.i64(i64 %295, i64 1)
  %297 = call i64 @llvm.umin.i64(i64 %296, i64 1024)
  %298 = mul nsw i64 %297, %286
  %299 = getelementptr inbounds i8, ptr %0, i64 48
  %300 = load i64, ptr %299, align 8
  %301 = call i64 @llvm.smax.i64(i64 %298, i64 %300)
  br label %302
302:
  %303 = phi i64 [ %301, %284 ], [ %55, %277 ]
  %304 = getelementptr inbounds i8, ptr %0, i64 24
  %305 = load i64, ptr %304, align 8
  %306 = call i32 %279(ptr %280, ptr %64, i64 %55, i64 %303, i64 %305, ptr %9)
  %307 = icmp eq i32 %306, 0
  br i1 %307, label %308, label %314
308:
  %309 = load i64, ptr %9, align 8
  %310 = icmp eq i64 %309, 0
  br i1 %310, label %316, label %311
311:
  %312 = add nsw i64 %11, 1
  %313 = call ptr @mend(ptr %3, ptr %170, i64 %309, ptr %64, ptr %1, i64 %312)
  br label %314
314:
  %315 = phi ptr [ %313, %311 ], [ null, %302 ], [ null, %224 ], [ null, %253 ], [ null, %246 ]
  call void @Py_DecRef(ptr %170)
  br label %316
316:
  %317 = phi ptr [ inttoptr (i64 1 to ptr), %4 ], [ inttoptr (i64 1 to ptr), %54 ], [ null, %167 ], [ %170, %275 ], [ %170, %308 ], [ inttoptr (i64 1 to ptr), %29 ], [ inttoptr (i64 1 to ptr), %42 ], [ inttoptr (i64 1 to ptr), %33 ], [ %315, %314 ], [ inttoptr (i64 1 to ptr), %131 ], [ inttoptr (i64 1 to ptr), %73 ], [ inttoptr (i64 1 to ptr), %93 ], [ inttoptr (i64 1 to ptr), %84 ], [ inttoptr (i64 1 to ptr), %98 ], [ inttoptr (i64 1 to ptr), %111 ], [ inttoptr (i64 1 to ptr), %118 ]
  ret ptr %317
}
declare void @Py_DecRef(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare void @PyErr_SetString(ptr, ptr)
declare ptr @PyTuple_New(i64)
declare void @Py_IncRef(ptr)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define internal ptr @mend(ptr %0, ptr %1, i64 %2, ptr %3, ptr %4, i64 %5) {
  %7 = add nsw i64 %5, 3
  %8 = shl i64 %7, 3
  %9 = alloca i8, i64 %8, align 16
  store ptr %1, ptr %9, align 16
  %10 = call ptr @PyLong_FromLongLong(i64 %2)
  %11 = getelementptr inbounds i8, ptr %9, i64 8
  store ptr %10, ptr %11, align 8
  %12 = icmp eq ptr %10, null
  br i1 %12, label %27, label %13
13:
  %14 = ptrtoint ptr %3 to i64
  %15 = call ptr @PyLong_FromLongLong(i64 %14)
  %16 = getelementptr inbounds i8, ptr %9, i64 16
  store ptr %15, ptr %16, align 16
  %17 = icmp eq ptr %15, null
  br i1 %17, label %24, label %18
18:
  %19 = getelementptr inbounds i8, ptr %9, i64 24
  %20 = shl i64 %5, 3
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %19, ptr align 8 %4, i64 %20, i1 false)
  %21 = call ptr @PyObject_Vectorcall(ptr %0, ptr %9, i64 %7, ptr null)
  %22 = load ptr, ptr %16, align 16
  call void @Py_DecRef(ptr %22)
  %23 = load ptr, ptr %11, align 8
  br label %24
24:
  %25 = phi ptr [ %23, %18 ], [ %10, %13 ]
  %26 = phi ptr [ %21, %18 ], [ null, %13 ]
  call void @Py_DecRef(ptr %25)
  br label %27
27:
  %28 = phi ptr [ %26, %24 ], [ null, %6 ]
  ret ptr %28
}
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare ptr @PyLong_FromLongLong(i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
