// What must hold before the first write: every id in range, no divisor zero (C1).
#pragma once
#include "hot.h"
#include "pool.h"

namespace ps {

// The first id, in C order, that `range` refuses. Only kRaise refuses ids; kClip refuses when there is nothing to clip to.
Fault check_ids(Ids ids, Range range, Lease& lease);

// The first zero among n items of `size` bytes.
Fault check_divisors(const char* items, int size, i64 n, Lease& lease);

// How many threads `bytes` of memory traffic are worth.
int threads_worth(i64 bytes);
void set_bytes_per_thread(i64 bytes);  // for tests: small calls, too, take several threads

// [first, last) of part i when n is cut into `parts`, at multiples of `grain`.
struct Span {
    i64 first, last;
};
Span cut(i64 n, int parts, int i, i64 grain = 1);

}  // namespace ps
