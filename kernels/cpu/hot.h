// The loops that are compiled once per instruction set (hot.cpp), as a table of functions.
#pragma once
#include "types.h"

namespace ps {

// data[rows[i], :width] = op(data[rows[i], :width], updates[pos[i], :width]) for i = 0 .. n-1, in this order.
// Rows of data and of updates start `stride` items apart; pos == nullptr stands for 0, 1, 2, ...
// rows must lie in range: they come from resolve(), never from an array that others can write.
using ApplyFn = void (*)(char* data, i64 stride, i64 width, const i64* rows, const i64* pos, i64 n,
                         const char* updates);

// data[ids[i], :width] = op(data[ids[i], :width], updates[i, :width]), rows `stride` items apart. Each id is read once more,
// and where it is used it is held against the range. Returns n; under kRaise the position of the first id that is
// not in range, with those before it applied and no other.
using DirectFn = i64 (*)(char* data, i64 stride, i64 width, Ids ids, Range range, const char* updates);

// Elements of `factor` items: data[i * step + ids[i] * axis_step] = op(data[...], updates[i]). Each id is read once; one that has
// no place is left out.
using LineFn = void (*)(char* data, i64 factor, i64 step, i64 axis_step, Ids ids, Range range, const char* updates);

struct Cell {
    LineFn line;
    DirectFn direct;
    ApplyFn apply;  // nullptr: no such operator for this dtype
    int factor;     // items as the function counts them per element; for kRaw multiply by the item size
    int item;       // bytes of such an item
};

constexpr i64 kSplitRoom = 8;

struct CellRow {
    Cell cell[kDtypes + 1];
};

struct Hot {
    const char* name;
    CellRow op[kOps];

    // out[i, :width] = data[rows[i], :width], zeros where rows[i] < 0; strides and width in bytes.
    void (*gather)(const char* data, i64 stride, i64 width, const i64* rows, i64 n, char* out, i64 out_stride);

    // The same straight from the ids, each read once. Returns n; under kRaise the position of the first id that has no row.
    i64 (*read)(const char* data, i64 stride, i64 width, Ids ids, Range range, char* out, i64 out_stride);

    // Reads each id once; rows[i] becomes its place in [0, size), or -1 where it has none. Returns how many have none.
    // Under kRaise an id out of range has none, as under kDrop: the caller has checked before. kClip needs size > 0.
    i64 (*resolve)(Ids ids, Range range, i64* rows);

    // Appends those targets (first, first + 1, ... are their positions) that `owner` owns to rows and pos, each of which
    // needs room for n and kSplitRoom more; targets below 0 have no owner. Returns how many there are.
    i64 (*split)(const i64* targets, i64 n, i64 first, Owner owner, i64* rows, i64* pos);

    // tags[i] becomes the bucket (the owner, of owner.parts <= kNoTag) of id i, or kNoTag where it has no row. Returns n; under
    // kRaise the position of the first id that has none.
    i64 (*tag)(Ids ids, Range range, Owner owner, unsigned char* tags);

    // Appends first + i for each tag that is one of those wanted to pos, which needs room for n more. Returns how many there are.
    i64 (*pick)(const unsigned char* tags, i64 n, const unsigned char* wanted, int count, i64 first, i64* pos);

    // As resolve() for the ids at these positions; ids that have no row are left out of rows and pos. Returns how many stay.
    i64 (*resolve_at)(Ids ids, Range range, i64* pos, i64 n, i64* rows);

    // Position of the first id outside [low, high), or n; *value receives that id.
    i64 (*find_outside)(Ids ids, i64 low, i64 high, i64* value);

    // Position of the first item that is zero, or n; items of 1, 2, 4 or 8 bytes.
    i64 (*find_zero)(const char* items, int size, i64 n);
};

const Hot& hot();  // the table for this machine, or the lower one that PARAMSTORE_ISA names

struct OpInfo {
    const char* name;
    bool refuses_zero, copies;
};
struct DtypeInfo {
    const char* name;
    int itemsize;
    bool integer;
};
extern const OpInfo kOpInfo[kOps];
extern const DtypeInfo kDtypeInfo[kDtypes];

}  // namespace ps
