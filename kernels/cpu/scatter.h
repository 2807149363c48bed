// The calls of the CPU backend, after the arrays have been looked at (arrays.h). Every function is all or nothing, and
// gives the bits of the defining loop at any number of threads.
#pragma once
#include "hot.h"

namespace ps {

// data[ids[i], :] = op(data[ids[i], :], updates[i, :])
struct RowsCall {
    Cell cell;
    bool check_zero;      // the divisors must be looked at
    char* data;           // (range.size, width)
    i64 width;            // in items of the cell
    Ids ids;              // (n,)
    Range range;
    const char* updates;  // (n, width)
    // Of memory traffic, nearly. Without ids the width is not bounded by any memory, and may be huge.
    i64 bytes() const { return ids.n ? ids.n * (width * cell.item * 3 + 8) : 0; }
};
Fault scatter_rows(const RowsCall& call);

// out[i, :] = data[ids[i], :], zeros where the id has no row; after a fault out holds anything
struct GatherRowsCall {
    const char* data;  // (range.size, width)
    i64 width;         // in bytes
    Ids ids;           // (n,)
    Range range;
    char* out;  // (n, width)
    i64 bytes() const { return ids.n ? ids.n * (width * 2 + 8) : 0; }
};
Fault gather_rows(const GatherRowsCall& call);

// Where the positions of `indices` lie in data: C order, dimensions of extent 1 dropped, neighbours joined where one
// step covers both. Position q lies at  sum of q[d] * step[d] + id * axis_step.
constexpr int kMaxDims = 64;
struct Walk {
    int ndim = 0;  // at least 1
    i64 extent[kMaxDims];
    i64 step[kMaxDims];  // 0 along the axis
    i64 axis_step = 1;
    i64 total = 0;       // positions
    i64 per_outer = 0;   // positions that share all coordinates before the axis
    bool axis_last = false;
};
Walk make_walk(int ndim, int axis, const i64* data_shape, const i64* index_shape);

struct ElementsCall {
    Cell cell;
    bool check_zero;
    char* data;
    Walk walk;
    Ids ids;
    Range range;
    const char* updates;
    i64 bytes() const { return ids.n * (cell.factor * cell.item * 3 + 8); }
};
Fault scatter_elements(const ElementsCall& call);

struct GatherElementsCall {
    const char* data;
    int itemsize;
    Walk walk;
    Ids ids;
    Range range;
    char* out;
    i64 bytes() const { return ids.n * (itemsize * 2 + 8); }
};
Fault gather_elements(const GatherElementsCall& call);

// out[i] = row-major offset of tuple i in dims; -1 where kDrop drops it
struct TuplesCall {
    Ids ids;  // (n, k)
    i64 n;
    int k;
    const i64* dims;     // (k,)
    const i64* strides;  // (k,) items
    Bounds bounds;
    bool wrap;
    i64* out;  // (n,)
    i64 bytes() const { return ids.n * 8 + n * 8; }
};
Fault flatten_tuples(const TuplesCall& call);

}  // namespace ps
