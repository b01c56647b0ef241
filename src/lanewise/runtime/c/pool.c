/* The thread pool of compiled kernels. What it does and why stands in pool.py. */

#include "runtime.h"

#define SIGNALS 40000000 /* nanoseconds between two looks for signals */
/* Nanoseconds that a caller waits for the last worker before it sleeps. Workers that waited so for
   work did harm when measured: the system leaves them on the processor of the one they wait for. */
#define SPIN 10000
#define STACK (8 << 20) /* bytes of stack for each worker; some platforms' default is far less */
#define SECOND 1000000000

extern const int32_t CLOCK, DETACHED, SETMASK;
extern const int32_t FAULTS[8]; /* signals that a fault raises in the thread itself, then 0 */

/* Of the C library, which has sizes of its own for what is handed over by address. One that a
   platform lacks returns 38 (ENOSYS): no thread is made then, and all work runs inline. */
typedef struct { _Alignas(64) char bytes[128]; } opaque;
extern int32_t clock_gettime(int32_t, int64_t *);
extern int64_t GetTickCount64(void);
extern void *malloc(int64_t);
extern void free(void *);
extern int32_t pthread_mutex_init(opaque *, void *);
extern int32_t pthread_mutex_lock(opaque *);
extern int32_t pthread_mutex_unlock(opaque *);
extern int32_t pthread_condattr_init(opaque *);
extern int32_t pthread_condattr_setclock(opaque *, int32_t);
extern int32_t pthread_cond_init(opaque *, opaque *);
extern int32_t pthread_cond_wait(opaque *, opaque *);
extern int32_t pthread_cond_timedwait(opaque *, opaque *, int64_t *);
extern int32_t pthread_cond_signal(opaque *);
extern int32_t pthread_cond_broadcast(opaque *);
extern int32_t pthread_attr_init(opaque *);
extern int32_t pthread_attr_setdetachstate(opaque *, int32_t);
extern int32_t pthread_attr_setstacksize(opaque *, int64_t);
extern int32_t pthread_create(int64_t *, opaque *, void *(*)(void *), void *);
extern int32_t sigfillset(opaque *);
extern int32_t sigdelset(opaque *, int32_t);
extern int32_t pthread_sigmask(int32_t, opaque *, opaque *);

/* Of Python. */
extern void *PyEval_SaveThread(void);
extern void PyEval_RestoreThread(void *);
extern int32_t PyErr_CheckSignals(void);
extern void PyErr_SetString(void *, const char *);
extern void *PyErr_NoMemory(void);
extern int64_t PyThread_get_thread_ident(void);

/* A call of `launch` that is not over, on the stack of the calling thread. */
struct job {
    _Alignas(64) int64_t first; /* item that nobody has taken (atomic, a cache line of its own) */
    _Alignas(64) int64_t limit; /* first item of the lowest chunk that failed; -1: interrupted (atomic) */
    int32_t active;             /* workers inside (atomic, changed under the mutex) */
    int32_t wanted;             /* workers that may still join */
    _Alignas(64) kernel *kernel;
    context *context; /* the caller's */
    int64_t total;    /* items */
    int64_t grain;    /* items in a chunk */
    int64_t scratch;  /* bytes */
    int64_t code;     /* of the chunk that failed */
    job *link;        /* the next open job */
    void *thread;     /* Python's thread state */
    int64_t due;      /* when to look for signals next; 0: not yet known */
    int64_t epoch;    /* in which the job began */
    context *own;     /* the context that the calling thread works with */
    bool is_main;     /* whether this is the main thread */
};

static opaque mutex;    /* guards all below but the atomics */
static opaque work;     /* condition: a job is open */
static opaque done;     /* condition: a worker left a job */
static job *jobs;       /* open ones, the oldest first */
static int32_t target;  /* workers allowed (atomic) */
static int64_t epoch;   /* how many forks ago this pool's process began */
static int64_t main_thread; /* the one that handles signals */
static int64_t most_kept; /* scratch of at most so many bytes is kept between jobs (atomic) */
static char *spare;     /* scratch of a calling thread that has returned (atomic) */

int32_t workers;  /* threads that live; tests read these two */
int32_t sleeping; /* of them, how many wait for work */

/* What Python sets: where scratch of LARGE bytes and more comes from, if not from malloc. */
void *(*take)(void *, int64_t);
void (*give)(void *, void *, int64_t);
void *runtime_error;

static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }

/* --- time and signals ------------------------------------------------------------------------ */

static int64_t now(void) {
    int64_t time[2];
    return clock_gettime(CLOCK, time) ? GetTickCount64() * 1000000 : time[0] * SECOND + time[1];
}

static int64_t limit_of(const job *job) { return __atomic_load_n(&job->limit, __ATOMIC_SEQ_CST); }

/* Let Python's signal handlers run. The mutex must not be held: a handler may call anything. */
static void handle_signals(job *job) {
    PyEval_RestoreThread(job->thread);
    bool is_over = PyErr_CheckSignals() != 0;
    if (!is_over && job->epoch != epoch) {
        PyErr_SetString(
            runtime_error, "the process was forked by a signal handler in the middle of a run");
        is_over = true;
    }
    if (is_over) __atomic_store_n(&job->limit, -1, __ATOMIC_SEQ_CST);
    job->thread = PyEval_SaveThread();
    job->due = now() + SIGNALS;
}

/* Called by kernels, and after each chunk: nonzero when the chunk at hand need not go on. */
static int32_t poll(context *context) {
    job *job = context->job;
    int64_t begin = context->begin;
    if (__atomic_load_n(&job->limit, __ATOMIC_RELAXED) < begin) return 1;
    if (job->own != context || !job->is_main) return 0;
    int64_t time = now();
    if (!job->due) job->due = time + SIGNALS;
    if (time < job->due) return 0;
    handle_signals(job);
    return limit_of(job) < begin;
}

/* --- scratch: 64-byte aligned; in front of it, where it was allocated and its size ------------ */

typedef struct { char *block; int64_t size; } front;
#define FRONT(scratch) ((front *)(scratch) - 1)

static void scratch_free(char *scratch) {
    if (!scratch) return;
    front *at = FRONT(scratch);
    if (give && at->size >= LARGE) give(NULL, at->block, at->size);
    else free(at->block);
}

/* Scratch of at least so many bytes in place of what there is; null if there is no memory. */
static char *scratch_fit(char *scratch, int64_t bytes) {
    if (scratch && FRONT(scratch)->size >= bytes) return scratch;
    scratch_free(scratch);
    char *block = take && bytes >= LARGE ? take(NULL, bytes + 128) : malloc(bytes + 128);
    if (!block) return NULL;
    char *found = (char *)(((intptr_t)block + 127) & -64);
    *FRONT(found) = (front){block, bytes};
    return found;
}

/* The scratch if it is small enough to keep it, else null. */
static char *scratch_keep(char *scratch) {
    int64_t most = __atomic_load_n(&most_kept, __ATOMIC_RELAXED);
    if (scratch && FRONT(scratch)->size <= most) return scratch;
    scratch_free(scratch);
    return NULL;
}

/* --- the work of a job ------------------------------------------------------------------------ */

/* Note that the chunk from `begin` failed, unless a lower one did. */
static void fail(job *job, const context *context, int64_t begin, int64_t code) {
    lock();
    int64_t limit = limit_of(job);
    /* Compare and exchange: an interrupt's -1, set without the mutex, must stay. */
    if (begin < limit && __atomic_compare_exchange_n(&job->limit, &limit, begin, false,
                                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        job->code = code;
        if (job->context != context)
            __builtin_memcpy(job->context + 1, context + 1, context->bytes - sizeof *context);
    }
    unlock();
}

/* Take chunks and run them until none is left that must run. */
static void run_chunks(job *job, context *context, char *scratch) {
    context->poll = poll;
    context->job = job;
    int64_t begin, end, code;
    do {
        begin = __atomic_fetch_add(&job->first, job->grain, __ATOMIC_SEQ_CST);
        if (begin >= job->total || limit_of(job) < begin) return;
        context->begin = begin;
        end = min(begin + job->grain, job->total);
        code = job->kernel(context, begin, end, scratch);
        if (code) fail(job, context, begin, code);
    } while (!code && end < job->total && !poll(context));
}

/* --- workers ---------------------------------------------------------------------------------- */

/* Take a job out of the list of open ones, if it is in it. The mutex is held. */
static void close_job(const job *job) {
    for (struct job **at = &jobs; *at; at = &(*at)->link) {
        if (*at == job) {
            *at = job->link;
            return;
        }
    }
}

static void *worker(void *unused) {
    char *scratch = NULL, *copy = NULL;
    lock();
    while (workers <= __atomic_load_n(&target, __ATOMIC_RELAXED)) {
        job *job = jobs;
        if (!job) {
            sleeping++;
            pthread_cond_wait(&work, &mutex);
            sleeping--;
            continue;
        }
        __atomic_fetch_add(&job->active, 1, __ATOMIC_SEQ_CST);
        if (!--job->wanted) close_job(job);
        /* Under the mutex, as what fails writes to it. */
        copy = scratch_fit(copy, job->context->bytes);
        if (copy) __builtin_memcpy(copy, job->context, job->context->bytes);
        unlock();
        scratch = scratch_fit(scratch, job->scratch);
        if (copy && scratch) run_chunks(job, (context *)copy, scratch); /* else others do the work */
        scratch = scratch_keep(scratch);
        lock();
        /* From here on, the job may be gone. */
        if (__atomic_fetch_sub(&job->active, 1, __ATOMIC_SEQ_CST) == 1) pthread_cond_broadcast(&done);
    }
    workers--;
    unlock();
    scratch_free(scratch);
    scratch_free(copy);
    return NULL;
}

/* Make threads until there are so many, as far as the system allows. The mutex is held. */
static void hire(int32_t wanted) {
    if (workers >= wanted) return;
    opaque attributes, all, before;
    int64_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, DETACHED);
    pthread_attr_setstacksize(&attributes, STACK);
    /* Signals are the main thread's, but for those that a fault raises in the thread itself. */
    sigfillset(&all);
    for (int32_t i = 0; FAULTS[i]; i++) sigdelset(&all, FAULTS[i]);
    pthread_sigmask(SETMASK, &all, &before);
    while (workers < wanted && !pthread_create(&thread, &attributes, worker, NULL)) workers++;
    pthread_sigmask(SETMASK, &before, NULL);
}

/* --- the calling thread ----------------------------------------------------------------------- */

/* Open the job to workers and wake them. The number that may join is at most `helpers`. */
static void open_job(job *job, int32_t helpers) {
    lock();
    hire(helpers);
    int32_t wanted = min(workers, helpers);
    if (wanted > 0) {
        struct job **at = &jobs;
        while (*at) at = &(*at)->link;
        *at = job;
        job->wanted = wanted;
        if (wanted >= sleeping) pthread_cond_broadcast(&work);
        else for (int32_t i = 0; i < wanted; i++) pthread_cond_signal(&work);
    }
    unlock();
}

/* Wait until no worker is inside the job, looking for signals meanwhile. */
static void wait_for_workers(job *job) {
    if (job->epoch != epoch) return;
    lock();
    close_job(job);
    unlock();
    int64_t end = now() + SPIN;
    while (__atomic_load_n(&job->active, __ATOMIC_ACQUIRE) && now() < end) wait_briefly();
    lock();
    while (__atomic_load_n(&job->active, __ATOMIC_SEQ_CST)) {
        int64_t wake = now() + SIGNALS, time[2] = {wake / SECOND, wake % SECOND};
        pthread_cond_timedwait(&done, &mutex, time);
        /* After an exception was raised, Python must not be called. */
        if (!job->is_main || now() < job->due || limit_of(job) < 0) continue;
        unlock();
        handle_signals(job);
        if (job->epoch != epoch) return;
        lock();
    }
    unlock();
}

/* Run a job on this thread and others, which have contexts of their own; false without memory. */
static bool run_with_others(job *job, char *scratch, int32_t helpers) {
    context *given = job->context;
    context *own = (context *)scratch_fit(NULL, given->bytes);
    if (!own) return false;
    __builtin_memcpy(own, given, given->bytes);
    job->own = own;
    open_job(job, (int32_t)min((job->total - 1) / job->grain, (int64_t)helpers));
    run_chunks(job, own, scratch);
    wait_for_workers(job);
    scratch_free((char *)own);
    return true;
}

/* Run a kernel for whoever checked the arguments and holds Python's lock: see `Pool.run`. Returns 0
   and leaves the code, or -1 with Python's error set. */
int32_t launch(kernel *kernel, context *context, int64_t total, int64_t grain, int64_t bytes,
               int64_t *code) {
    job job = {
        .limit = INT64_MAX, .kernel = kernel, .context = context, .total = total,
        .grain = min(grain, total), .scratch = bytes, .epoch = epoch, .own = context,
        .is_main = PyThread_get_thread_ident() == main_thread,
    };
    char *scratch = NULL;
    if (bytes) {
        scratch = scratch_fit(__atomic_exchange_n(&spare, NULL, __ATOMIC_SEQ_CST), bytes);
        if (!scratch) {
            PyErr_NoMemory();
            return -1;
        }
    }
    job.thread = PyEval_SaveThread();
    int32_t helpers = total > grain ? __atomic_load_n(&target, __ATOMIC_RELAXED) : 0;
    if (helpers <= 0 || !run_with_others(&job, scratch, helpers)) run_chunks(&job, context, scratch);
    PyEval_RestoreThread(job.thread);
    if (bytes)
        scratch_free(__atomic_exchange_n(&spare, scratch_keep(scratch), __ATOMIC_SEQ_CST));
    if (limit_of(&job) < 0) return -1;
    *code = job.code;
    return 0;
}

/* So many threads beside the calling one from now on; scratch of at most so many bytes is kept. */
void resize(int32_t threads, int64_t bytes) {
    lock();
    __atomic_store_n(&most_kept, bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&target, threads, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast(&work); /* surplus workers leave */
    unlock();
}

/* Begin anew, in a process that has no workers; told which thread is the main one. */
void reset(int64_t thread) {
    opaque attributes;
    main_thread = thread;
    epoch++;
    jobs = NULL;
    workers = sleeping = 0;
    pthread_mutex_init(&mutex, NULL);
    pthread_cond_init(&work, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK);
    pthread_cond_init(&done, &attributes);
}
