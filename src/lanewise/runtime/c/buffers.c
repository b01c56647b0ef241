/* Memory of large arrays, kept when an array is gone. What it does and why stands in buffers.py.

   A block is mapped memory: a page for its size (at its beginning), then the data, aligned to 2 MiB
   where that may hold a huge page. */

#include "runtime.h"

#define MOST_BLOCKS 64
#define HUGE_PAGE (2 << 20)
#define MOST_BYTES ((int64_t)1 << 48)
#define READ_WRITE 3
/* Kept blocks of so many bytes are the system's to take. Marking a smaller one takes longer than a
   hundredth of the time in which it is written. */
#define FREE_FROM (32 << 20)

extern const int64_t PAGE;
extern const int32_t MAP_ANONYMOUS; /* how to map memory that is no file's */
extern const int32_t ADVISE_HUGE, ADVISE_FREE; /* -1 where the system knows no such advice */

extern char *mmap(void *, int64_t, int32_t, int32_t, int32_t, int64_t);
extern int32_t munmap(void *, int64_t);
extern int32_t madvise(void *, int64_t, int32_t);

static struct { char *data; int64_t capacity; } kept[MOST_BLOCKS]; /* the oldest first */
static int64_t count; /* of kept blocks */
static int64_t bytes; /* of all of them */
static int64_t bound; /* of these: how many there may be */
static int32_t busy;  /* lock of the above (atomic) */

/* Hardly ever contended: Python's own lock is usually held by whoever makes and frees arrays. */
static void lock(void) {
    while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) wait_briefly();
}

static void unlock(void) { __atomic_store_n(&busy, 0, __ATOMIC_RELEASE); }

static int64_t *capacity_of(char *data) { return (int64_t *)(data - PAGE); }

static void unmap(char *data) { munmap(data - PAGE, *capacity_of(data) + PAGE); }

/* Map a new block with so many bytes, a multiple of the page size; null if there is no memory. */
static char *map(int64_t capacity) {
    bool is_huge = capacity >= HUGE_PAGE;
    int64_t size = capacity + PAGE + (is_huge ? HUGE_PAGE : 0); /* a page in front, and to align within */
    char *start = mmap(NULL, size, READ_WRITE, MAP_ANONYMOUS, -1, 0);
    if (start == (char *)-1) return NULL;
    char *data = start + PAGE;
    if (is_huge) data += -(intptr_t)data & (HUGE_PAGE - 1);
    char *front = data - PAGE, *end = data + capacity, *last = start + size;
    if (front > start) munmap(start, front - start);
    if (last > end) munmap(end, last - end);
    if (ADVISE_HUGE >= 0) madvise(data, capacity, ADVISE_HUGE);
    *capacity_of(data) = capacity;
    return data;
}

/* Take the kept block at a place out. The lock is held. */
static char *take_out(int64_t place) {
    char *data = kept[place].data;
    bytes -= kept[place].capacity;
    count--;
    __builtin_memmove(&kept[place], &kept[place + 1], (count - place) * sizeof *kept);
    return data;
}

/* Give kept blocks back to the system, the oldest first, until the bound holds and, if `more` is
   not 0, there is room for a block of so many bytes. */
static void trim(int64_t more) {
    for (;;) {
        lock();
        bool is_much = count && (bytes + more > bound || count + (more != 0) > MOST_BLOCKS);
        char *data = is_much ? take_out(0) : NULL;
        unlock();
        if (!data) return;
        unmap(data);
    }
}

static int64_t get_bound(void) {
    lock();
    int64_t found = bound;
    unlock();
    return found;
}

/* --- NumPy's memory handler ------------------------------------------------------------------- */

void *handler_malloc(void *unused, uint64_t size) {
    if (size > MOST_BYTES) return NULL;
    int64_t need = max((int64_t)(size + PAGE - 1) & -PAGE, PAGE);
    int64_t best = -1, least = need + need / 8;
    lock();
    for (int64_t i = 0; i < count; i++) /* for the smallest that is large enough and not much larger */
        if (kept[i].capacity >= need && kept[i].capacity <= least) best = i, least = kept[i].capacity;
    char *data = best < 0 ? NULL : take_out(best);
    unlock();
    if (!data) data = map(need);
    if (!data) { /* what is kept may be what lacks */
        trim(MOST_BYTES);
        data = map(need);
    }
    return data;
}

void handler_free(void *unused, char *data, uint64_t size) {
    if (!data) return;
    int64_t capacity = *capacity_of(data);
    if (capacity > get_bound()) { /* it would drive all others out, to no avail */
        unmap(data);
        return;
    }
    trim(capacity);
    if (ADVISE_FREE >= 0 && capacity >= FREE_FROM) madvise(data, capacity, ADVISE_FREE);
    lock();
    bool is_kept = bytes + capacity <= bound && count < MOST_BLOCKS;
    if (is_kept) {
        kept[count].data = data;
        kept[count++].capacity = capacity;
        bytes += capacity;
    }
    unlock();
    if (!is_kept) unmap(data);
}

static void *handler_calloc(void *unused, uint64_t number, uint64_t each) {
    uint64_t size;
    if (__builtin_mul_overflow(number, each, &size)) return NULL;
    void *data = handler_malloc(NULL, size);
    if (data) __builtin_memset(data, 0, size);
    return data;
}

static void *handler_realloc(void *unused, char *data, uint64_t size) {
    int64_t before = data ? *capacity_of(data) : 0;
    if (data && size <= (uint64_t)before) return data;
    char *larger = handler_malloc(NULL, size);
    if (larger && data) {
        __builtin_memcpy(larger, data, before);
        handler_free(NULL, data, before);
    }
    return larger;
}

/* PyDataMem_Handler of NumPy's C API: a name, the version, and the allocator. */
struct {
    char name[127];
    uint8_t version;
    void *context;
    void *(*malloc)(void *, uint64_t);
    void *(*calloc)(void *, uint64_t, uint64_t);
    void *(*realloc)(void *, char *, uint64_t);
    void (*free)(void *, char *, uint64_t);
} handler = {"lanewise", 1, NULL, handler_malloc, handler_calloc, handler_realloc, handler_free};

/* --- called by Python ------------------------------------------------------------------------- */

/* Keep at most so many bytes; returns how many are kept now. */
int64_t limit(int64_t most) {
    lock();
    bound = most;
    unlock();
    trim(0);
    lock();
    int64_t found = bytes;
    unlock();
    return found;
}

/* The process is a new one. If a thread that it does not have was changing what is kept (which takes
   a Python without its global lock), nothing of that can be relied on, so it is forgotten. */
void forked(void) {
    if (__atomic_load_n(&busy, __ATOMIC_SEQ_CST)) {
        count = bytes = 0;
        unlock();
    }
}
