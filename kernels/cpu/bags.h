// Reductions over bags of rows: the forward pass of an embedding bag.
#pragma once
#include "pool.h"
#include "types.h"

namespace nanobind { class module_; }

namespace ps {

enum BagMode : int { kBagSum, kBagMean, kBagMax, kBagModes };

// out[b, :] = reduction over k of bag b, in C order, of weights[k] * data[ids[k], :]. Bag b is ids [offsets[b], offsets[b + 1]).
// Sums begin at +0 and are taken in the dtype, those of half types in float32 and rounded once; a mean divides at the end;
// a bag without rows is zeros.
struct BagCall {
    const char* data;     // (range.size, stride); the columns [0, width) count
    i64 stride, width;    // in items
    Ids ids;              // (n,)
    Range range;          // without wrap
    bool has_missing;     // ids that equal `missing`, inside the range or not, take no part
    i64 missing;
    const i64* offsets;   // (bags + 1,), or nullptr where every bag has `length` ids
    i64 length, bags;
    const char* weights;  // (n,) of the dtype of data, or nullptr; only for kBagSum
    char* out;            // (bags, stride)
    i64* winners;         // (bags, stride) or nullptr; for kBagMax the first k that has the maximum, -1 in an empty bag
    int item;             // bytes

    i64 begin(i64 bag) const { return within(offsets ? offsets[bag] : bag * length, 0); }
    i64 end(i64 bag) const { return within(offsets ? offsets[bag + 1] : (bag + 1) * length, begin(bag)); }
    i64 bytes() const { return (ids.n + bags) * (width * item + 8); }

  private:
    i64 within(i64 at, i64 least) const { return at < least ? least : at > ids.n ? ids.n : at; }
};

// Does bags [first, last). *fault becomes the first id that the range refuses, and is left as it is if it is earlier.
using BagFn = void (*)(const BagCall& call, i64 first, i64 last, Fault* fault);

struct BagTable {
    const char* name;
    BagFn bags[kBagModes][kDtypes];  // nullptr: not defined for the dtype
};
const BagTable& bag_table();  // of the instruction set that hot() has

Fault reduce_bags(const BagCall& call, BagFn bags);

void register_bags(nanobind::module_& m);

}  // namespace ps
