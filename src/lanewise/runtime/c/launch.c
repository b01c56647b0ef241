/* A kernel called on arrays: what is in the way of a steady call. What it does stands in launch.py. */

#include "runtime.h"

#define MOST_RANK 65
#define CONTIGUOUS 1 /* flags of arrays */
#define ALIGNED 256
#define UNUSABLE ((void *)1) /* in place of a result: the operands must be converted first */

/* Where an object's head ends, which has its type last. Behind it stand an array's fields, which are
   part of NumPy's stable ABI. */
extern const int64_t HEAD;

typedef struct {
    char *data;
    int32_t rank;
    int64_t *shape;
    int64_t *strides;
    void *base;
    void *dtype;
    int32_t flags;
} fields;

/* Of Python. */
extern void Py_IncRef(void *);
extern void Py_DecRef(void *);
extern void PyErr_SetString(void *, const char *);
extern int64_t PyLong_AsLongLong(void *);
extern void *PyLong_FromLongLong(int64_t);
extern void *PyTuple_New(int64_t);
extern void *PyTuple_GetItem(void *, int64_t);
extern int32_t PyTuple_SetItem(void *, int64_t, void *);
extern void *PySequence_GetItem(void *, int64_t);
extern char *PyBytes_AsString(void *);
extern void *PyBytes_FromStringAndSize(const char *, int64_t);
extern void *PyObject_Vectorcall(void *, void **, int64_t, void *);

/* What Python sets: the types of arrays and ints, the function that makes large arrays of sizes in
   bytes and a dtype, and what is called of NumPy and the pool. */
void *array_type, *int_type, *large, *type_error, *none;
void *(*np_new)(void *, void *, int32_t, int64_t *, int64_t *, void *, int32_t, void *);
void *(*np_transpose)(void *, void *);
int32_t (*run)(kernel *, context *, int64_t, int64_t, int64_t, int64_t *);

static fields *fields_of(void *array) { return (fields *)((char *)array + HEAD); }

static bool is_a(void *object, void *type) { return ((void **)fields_of(object))[-1] == type; }

/* The size of a batch: what an int says, else that of the first mapped operand; -1 if neither is. */
static int64_t size_of(const table *table, void **arguments) {
    if (is_a(arguments[0], int_type)) return PyLong_AsLongLong(arguments[0]);
    if (table->place < 0) return -1;
    void *array = arguments[table->place + 1];
    if (!is_a(array, array_type) || table->place_axis >= fields_of(array)->rank) return -1;
    return fields_of(array)->shape[table->place_axis];
}

/* Whether an operand can be read as it is: of this type, without gaps or in columns, aligned, of this
   dtype, shape and size. The strides of columns go where it is said. */
static bool fits(void *array, const entry *entry, int64_t size, int64_t *strides) {
    if (!is_a(array, array_type)) return false;
    const fields *own = fields_of(array);
    bool is_rows = !entry->step;
    int32_t needed = is_rows ? CONTIGUOUS | ALIGNED : ALIGNED;
    if ((own->flags & needed) != needed || own->dtype != entry->dtype) return false;
    int64_t mapped = entry->axis;
    if (own->rank != entry->rank + (mapped >= 0)) return false;
    if (mapped >= 0) {
        if (own->shape[mapped] != size) return false;
        bool is_near = own->strides[mapped] == entry->step || !size; /* then strides mean nothing */
        if (!is_rows && !is_near) return false;
    }
    for (int64_t axis = 0; axis < entry->rank; axis++) {
        int64_t place = axis + (mapped >= 0 && axis >= mapped);
        if (own->shape[place] != entry->shape[axis]) return false;
        if (!is_rows) strides[axis] = own->strides[place];
    }
    return true;
}

/* A new array for results of so many examples, or null with an error set. */
static void *make(const entry *entry, int64_t size) {
    int64_t shape[MOST_RANK], each = entry->axis, rank = entry->rank + 1;
    bool is_rows = !entry->step;
    shape[is_rows ? 0 : entry->rank] = size;
    __builtin_memcpy(shape + is_rows, entry->shape, entry->rank * sizeof *shape);
    if (size < LARGE && each < LARGE && size * each < LARGE) {
        Py_IncRef(entry->dtype); /* the array takes it */
        return np_new(array_type, entry->dtype, (int32_t)rank, shape, NULL, NULL, 0, NULL);
    }
    void *given[2] = {PyBytes_FromStringAndSize((char *)shape, rank * sizeof *shape), entry->dtype};
    if (!given[0]) return NULL;
    void *array = PyObject_Vectorcall(large, given, 2, NULL);
    Py_DecRef(given[0]);
    return array;
}

/* An array for a result, or null with an error set. Of columns, the examples are the last axis of
   the array, and the first of what is returned. */
static void *result(const entry *entry, int64_t size, int64_t *strides) {
    void *array = make(entry, size);
    if (!array || !entry->step) return array;
    int64_t order[MOST_RANK] = {entry->rank};
    for (int64_t axis = 0; axis < entry->rank; axis++) {
        order[axis + 1] = axis;
        strides[axis] = fields_of(array)->strides[axis];
    }
    struct { int64_t *axes; int32_t count; } permutation = {order, (int32_t)entry->rank + 1};
    void *view = np_transpose(array, &permutation);
    Py_DecRef(array);
    return view;
}

/* How many examples a thread takes at once: all where they are little work; else as many as are
   enough, but few enough that all threads stay busy. */
static int64_t grain_of(const table *table, int64_t size) {
    if (size <= table->few) return size;
    int64_t blocks = (size + table->lanes - 1) / table->lanes;
    /* A kernel that refills its lanes has idle ones at the end of each chunk only: fewer, larger ones. */
    int64_t share = max(blocks >> 6, min(blocks >> table->share, 64));
    return max(min(max(share, 1), 1024) * table->lanes, table->enough);
}

/* Call mender(results, code, address of the context, *arguments), and return what it returns. */
static void *mend(void *mender, void *results, int64_t code, context *context, void **arguments,
                  int64_t count) {
    void **items = __builtin_alloca((count + 3) * sizeof *items), *mended = NULL;
    items[0] = results;
    items[1] = PyLong_FromLongLong(code);
    if (!items[1]) return NULL;
    items[2] = PyLong_FromLongLong((int64_t)context);
    if (items[2]) {
        __builtin_memcpy(items + 3, arguments, count * sizeof *items);
        mended = PyObject_Vectorcall(mender, items, count + 3, NULL);
        Py_DecRef(items[2]);
    }
    Py_DecRef(items[1]);
    return mended;
}

static const entry *behind(const entry *entry) {
    return (const struct entry *)(entry->shape + entry->rank);
}

/* Where the strides of the array behind one go: columns have some. */
static int64_t *strides_behind(const entry *entry, int64_t *strides) {
    return entry->step ? strides + entry->rank : strides;
}

/* Call a kernel. Returns a tuple of arrays; null with an error set; UNUSABLE if the operands must be
   converted first. What it leaves undone, the mender does. */
static void *attempt(const table *table, void **arguments, int64_t count, void *mender) {
    int64_t inputs = table->inputs, outputs = table->outputs, more = count - 1 - inputs;
    /* Behind the operands may stand the arrays to write to. */
    if (more && more != outputs) return UNUSABLE;
    int64_t size = size_of(table, arguments);
    if (size < 0) return UNUSABLE;

    /* The context: pointers, strides of columns, and a word that is the mender's. */
    int64_t words = inputs + outputs + table->apart + 1;
    int64_t bytes = sizeof(context) + words * sizeof(int64_t);
    context *context = __builtin_alloca_with_align(bytes, 512);
    char **pointers = (char **)(context + 1);
    int64_t *strides = (int64_t *)(pointers + inputs + outputs);
    const entry *entry = (const struct entry *)(table + 1);
    for (int64_t i = 0; i < inputs; i++) {
        void *array = arguments[i + 1];
        if (!fits(array, entry, size, strides)) return UNUSABLE;
        pointers[i] = fields_of(array)->data;
        strides = strides_behind(entry, strides);
        entry = behind(entry);
    }

    void *results = PyTuple_New(outputs);
    if (!results) return NULL;
    for (int64_t i = 0; i < outputs; i++) {
        void *array = more ? arguments[inputs + i + 1] : result(entry, size, strides);
        if (!array) goto drop;
        if (more) Py_IncRef(array); /* the tuple takes it */
        PyTuple_SetItem(results, i, array);
        pointers[inputs + i] = fields_of(array)->data;
        strides = strides_behind(entry, strides);
        entry = behind(entry);
    }
    if (!size) return results;
    *context = (struct context){.bytes = bytes};
    int64_t code;
    if (run(table->code, context, size, grain_of(table, size), table->scratch, &code)) goto drop;
    if (!code) return results;
    void *mended = mend(mender, results, code, context, arguments, inputs + 1);
    Py_DecRef(results);
    return mended;
drop:
    Py_DecRef(results);
    return NULL;
}

/* launch(size, *operands), a method of (cell, otherwise). The cell has what is known of the kernel to
   be tried, (table, mender, ...), or None. What does not fit it is left to the function `otherwise`. */
void *launch(void *self, void **arguments, int64_t count) {
    void *result = UNUSABLE;
    /* A reference of one's own: another thread may change the cell, now and while the kernel runs. */
    void *known = PySequence_GetItem(PyTuple_GetItem(self, 0), 0);
    if (known != none) {
        const table *table = (const struct table *)PyBytes_AsString(PyTuple_GetItem(known, 0));
        result = attempt(table, arguments, count, PyTuple_GetItem(known, 1));
    }
    Py_DecRef(known);
    if (result != UNUSABLE) return result;
    void *otherwise = PyTuple_GetItem(self, 1);
    if (otherwise != none) return PyObject_Vectorcall(otherwise, arguments, count, NULL);
    PyErr_SetString(type_error, "an array does not fit a compiled map");
    return NULL;
}
