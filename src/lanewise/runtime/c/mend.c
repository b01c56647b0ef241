/* Kernels that go on after a failure. What this is for stands in mend.py.

   Both functions have a kernel's own signature, so that the pool runs them. */

#include "runtime.h"

#define FAILED 1 /* the lowest bit of a code; the first example of the block is above the second */

static known *known_by(context *context) {
    return ((known **)((char *)context + context->bytes))[-1];
}

/* The kernel for a range of examples, counted from the first one. The examples of a block that fails
   go to the list, and those behind it are done. Once the list is full, returns what the kernel did. */
int64_t go_on(context *context, int64_t begin, int64_t end, char *scratch) {
    known *known = known_by(context);
    int64_t lanes = known->lanes, at = begin + known->first, stop = end + known->first;
    const int64_t *noted = known->notes < 0 ? NULL : (int64_t *)(scratch + known->notes);
    do {
        int64_t code = known->kernel(context, at, stop, scratch);
        if (!(code & FAILED)) return code;
        int64_t place = __atomic_fetch_add(&known->taken, lanes, __ATOMIC_SEQ_CST);
        if (place + lanes > known->room) return code;
        int64_t block = code >> 2;
        for (int64_t lane = 0; lane < lanes; lane++)
            known->list[place + lane] = noted ? noted[lane] : block + lane;
        if (place + lanes == known->room) return code;
        at = noted ? noted[lanes] : block + lanes;
    } while (at < stop);
    return 0;
}

/* The kernel for each of some examples of the list by itself. Those that do not fail are struck off. */
int64_t one_by_one(context *context, int64_t begin, int64_t end, char *scratch) {
    known *known = known_by(context);
    for (int64_t at = begin; at < end; at++) {
        int64_t number = known->list[at];
        int64_t code = known->kernel(context, number, number + 1, scratch);
        if (!code) known->list[at] = -1;
        else if (!(code & FAILED)) return code;
    }
    return 0;
}
