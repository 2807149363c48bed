// The hot loops. CMake compiles this file once per instruction set, with PS_NAMESPACE set to ps_<name>: no function
// of one build may stand in for that of another, so everything here is internal or in that namespace, and the
// standard library stays out.
#include "hot.h"
#include "../combine.h"
#include "hot_ids.h"
#include "hot_rows.h"

#define PS_STRING_(s) #s
#define PS_STRING(s) PS_STRING_(s)

namespace PS_NAMESPACE {
namespace {

using ps::Cell;
using ps::CellRow;
using ps::Hot;

// ---- gather ----------------------------------------------------------------------------------------------------

template <int Fixed>
void gather_block(const char* data, i64 stride, i64 width, const i64* rows, i64 n, char* out, i64 out_stride) {
    struct __attribute__((packed, may_alias)) Bytes { char byte[Fixed ? Fixed : 1]; };
    if (Fixed) width = Fixed;
    for (i64 i = 0; i < n; ++i) {
        if (i + kAhead < n && rows[i + kAhead] >= 0) prefetch_row(data + rows[i + kAhead] * stride, width);
        char* to = out + i * out_stride;
        if (rows[i] < 0) {
            __builtin_memset(to, 0, (unsigned long)width);
            continue;
        }
        const char* from = data + rows[i] * stride;
        if (Fixed)
            *(Bytes*)to = *(const Bytes*)from;
        else
            __builtin_memcpy(to, from, (unsigned long)width);
    }
}

void gather(const char* data, i64 stride, i64 width, const i64* rows, i64 n, char* out, i64 out_stride) {
    switch (width) {
        case 1: return gather_block<1>(data, stride, width, rows, n, out, out_stride);
        case 2: return gather_block<2>(data, stride, width, rows, n, out, out_stride);
        case 4: return gather_block<4>(data, stride, width, rows, n, out, out_stride);
        case 8: return gather_block<8>(data, stride, width, rows, n, out, out_stride);
        case 16: return gather_block<16>(data, stride, width, rows, n, out, out_stride);
        case 32: return gather_block<32>(data, stride, width, rows, n, out, out_stride);
        case 64: return gather_block<64>(data, stride, width, rows, n, out, out_stride);
        case 128: return gather_block<128>(data, stride, width, rows, n, out, out_stride);
        default: return gather_block<0>(data, stride, width, rows, n, out, out_stride);
    }
}

// ---- the table -------------------------------------------------------------------------------------------------

template <class Op, class T, int Kind> constexpr Cell cell() {
    if constexpr ((Op::kinds & Kind) != 0) {
        using View = typename Op::template view<T>;
        using Canonical = typename View::canonical;
        return {direct<Op, Canonical>, apply<Op, Canonical>, View::factor, (int)sizeof(Canonical)};
    } else {
        return {nullptr, nullptr, 0, 0};
    }
}

template <class Op> constexpr CellRow cells() {
    return {{
#define PS_DTYPE(name, type, kind) cell<Op, type, kind>(),
#include "../dtypes.def"
#undef PS_DTYPE
        cell<Op, u8, Op::copies ? PS_INTEGER : 0>(),
    }};
}

}  // namespace

extern const Hot table;
const Hot table = {
    PS_STRING(PS_ISA_NAME),
    {
#define PS_OP(name, kinds, view, divisor, expression) cells<op_##name>(),
#include "../ops.def"
#undef PS_OP
    },
    gather,
    resolve,
    split,
    tag,
    pick,
    resolve_at,
    find_outside,
    find_zero,
};

}  // namespace PS_NAMESPACE
