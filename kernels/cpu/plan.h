// How a rows call is spread over threads. Every plan gives the bits of the defining loop: no two threads write one target
// at a time, and each target takes its updates in C order.
#pragma once
#include "pool.h"
#include "scatter.h"

namespace ps {

struct Plan {
    enum Kind {
        kSerial,   // one thread
        kColumns,  // each thread takes a stripe of every row: even work, whatever the ids
        kOwner,    // each thread scans all ids and takes the rows that it owns
        kBuckets,  // threads sort the ids by buckets of rows, and then take buckets
    } kind;
    int parts;
};

// Bytes of a row for one thread: two lines, which the hardware fetches together.
constexpr i64 kStripe = 128;

Plan plan_rows(const RowsCall& call, int threads);

// For tests: every call takes this plan from now on, whatever its size; -1 ends that.
void force_plan(int kind);
bool plan_is_forced();

// The plan kBuckets, checks included. False, and nothing is written, if there are no rows, or no memory for its notes.
bool scatter_buckets(const RowsCall& call, int parts, Lease& lease, Fault& fault);

}  // namespace ps
