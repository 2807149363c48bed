// One step of an optimizer on rows of a table, and sums of rows that share an id: what the loops (optim_hot.cpp) are given.
#pragma once
#include "types.h"

namespace ps {

enum : int {
#define PS_OPTIM(name, rule, cells, rows, varying, constants) optim_code_##name,
#include "../optim.def"
#undef PS_OPTIM
    kOptims
};

struct OptimInfo {
    const char* name;
    int cells, rows, varying, constants;
};
extern const OptimInfo kOptimInfo[kOptims];

constexpr int kMostScalars = 16;

// Ids in rising order, equal ones in the order of their positions: each key is id << shift | position.
struct Keys {
    const u64* key;
    i64 n;
    int shift;
    i64 id(i64 i) const { return (i64)(key[i] >> shift); }
    i64 pos(i64 i) const { return (i64)(key[i] & (((u64)1 << shift) - 1)); }
};

struct Step {
    char* data;           // (rows, width)
    i64 rows, width;
    char* state[4];       // (rows, width) or (rows,), in the type that the rule computes in
    i64* last;            // (rows,) the step that each row has seen last; nullptr where rows that are not touched stay
    const char* updates;  // (n, width); nullptr: rows are only brought up to `step`
    const double* varying;  // (step - first + 1, varying) the scalars of the steps first .. step
    i64 first, step;
    const double* constants;
    i64 padding;       // a row that never moves, or -1
    double max_norm;   // of a row after the step, or 0
    double most;       // no rate of any step is larger; 0: rows may move without a gradient for another reason than their state
};

// A segment (keys of one id) whose sum is already there, rounded: in the type that the rule computes in.
struct Presummed {
    i64 begin, end;
    const char* sum;
};

struct OptimCell {
    // The rows of keys [begin, end), which holds whole segments; presummed ones are in rising order. `scratch` is from scratch_bytes.
    void (*sorted)(const Step& step, const Keys& keys, i64 begin, i64 end, const Presummed* sums, i64 sums_n, char* scratch);
    // The rows first .. last - 1, with the updates of the same places.
    void (*dense)(const Step& step, i64 first, i64 last, char* scratch);
};

struct OptimType {
    OptimCell rule[kOptims];
    // sum[from .. to) += updates[pos, from .. to) for the keys [begin, end), from zeros or rather the first of them.
    void (*stripe)(const char* updates, i64 width, const Keys& keys, i64 begin, i64 end, i64 from, i64 to, char* sum);
    int wide;  // bytes of the type that rules compute in; 0: no such type
};

struct SliceType {
    // out[k] = the sum of segment k of the keys [begin, end): widths as items of the function's own type, see factor in hot.h.
    void (*sums)(const char* values, i64 width, const Keys& keys, i64 begin, i64 end, char* out, char* scratch);
    int factor;  // 0: no addition
};

struct OptimHot {
    const char* name;
    OptimType type[kDtypes];
    SliceType slice[kDtypes];
};

const OptimHot& optim_hot();  // the table of the instruction set that hot() has chosen

i64 scratch_bytes(i64 width, int wide);

}  // namespace ps
