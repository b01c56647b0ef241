/* What the parts of the runtime share. Python reads the structures off this file (native.py).

   Types have sizes that do not depend on the platform, of which only pointers of 64 bits are
   expected: the LLVM IR that is made of these files serves all. What differs, and what Python knows,
   is declared `extern const`, and Python defines it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))

typedef struct context context;
typedef struct job job;

/* Does the items from one to before another; returns 0, or another code where it stopped before. */
typedef int64_t kernel(context *, int64_t begin, int64_t end, char *scratch);
/* Nonzero when the kernel must leave. */
typedef int32_t poller(context *);

/* What the pool has at the start of a kernel's context, and sets but for the last of it. */
struct context {
    poller *poll;
    job *job;
    int64_t begin; /* the first item of the chunk at hand */
    int64_t bytes; /* of the block in all, with these */
};

/* A kernel's table of an array: shape numbers follow. */
typedef struct entry {
    void *dtype;
    int64_t axis;  /* of an operand: the mapped one, or -1; of a result: bytes of an example */
    int64_t step;  /* bytes from example to example in columns, else 0 */
    int64_t rank;  /* of an example's */
    int64_t shape[];
} entry;

/* What is to be known of a kernel to call it: entries of operands and results follow. */
typedef struct table {
    kernel *code;
    int64_t inputs;
    int64_t outputs;
    int64_t scratch;    /* bytes */
    int64_t lanes;
    int64_t few;        /* examples up to which one thread runs all */
    int64_t enough;     /* examples of a chunk, at least */
    int64_t place;      /* of a mapped operand, -1 if there is none */
    int64_t share;      /* the part of all that a chunk is: a half to this power */
    int64_t place_axis; /* the mapped axis of that operand */
    int64_t apart;      /* axes of all that is in columns */
} table;

/* What a kernel that goes on after a failure knows, of which its context ends in the address. */
typedef struct known {
    kernel *kernel;
    int64_t first; /* example */
    int64_t lanes;
    int64_t *list; /* of examples that failed */
    int64_t room;  /* in the list */
    int64_t taken; /* of that (atomic) */
    int64_t notes; /* where in the scratch examples at hand are noted; -1: they are a block's */
} known;

/* Blocks of so many bytes are made of memory that is kept. */
extern const int64_t LARGE;

/* What a loop that waits does meanwhile. */
extern void wait_briefly(void);
