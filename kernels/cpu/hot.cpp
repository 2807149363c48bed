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

template <int Fixed, class At>
i64 read_rows(const char* data, i64 stride, i64 width, At ids, i64 n, Range range, char* out, i64 out_stride) {
    struct __attribute__((packed, may_alias)) Bytes { char byte[Fixed ? Fixed : 1]; };
    if (Fixed) width = Fixed;
    const bool ahead = width > 8 && range.size > kNear / stride;  // reads of a cell or two overlap by themselves
    for (i64 i = 0; i < n; ++i) {
        if (ahead && i + kAhead < n) prefetch_row((const char*)((u64)data + (u64)ids[i + kAhead] * (u64)stride), width);
        char* to = out + i * out_stride;
        i64 row = ids[i];
        if (__builtin_expect((u64)row >= (u64)range.size, 0)) {
            row = place_outside(row, range);
            if (row < 0) {
                if (range.bounds == ps::kRaise) return i;
                __builtin_memset(to, 0, (unsigned long)width);
                continue;
            }
        }
        if (Fixed)
            *(Bytes*)to = *(const Bytes*)(data + row * stride);
        else
            __builtin_memcpy(to, data + row * stride, (unsigned long)width);
    }
    return n;
}

template <class At>
i64 read_at(const char* data, i64 stride, i64 width, At ids, i64 n, Range range, char* out, i64 out_stride) {
    switch (width) {
        case 1: return read_rows<1>(data, stride, width, ids, n, range, out, out_stride);
        case 2: return read_rows<2>(data, stride, width, ids, n, range, out, out_stride);
        case 4: return read_rows<4>(data, stride, width, ids, n, range, out, out_stride);
        case 8: return read_rows<8>(data, stride, width, ids, n, range, out, out_stride);
        case 16: return read_rows<16>(data, stride, width, ids, n, range, out, out_stride);
        case 32: return read_rows<32>(data, stride, width, ids, n, range, out, out_stride);
        case 64: return read_rows<64>(data, stride, width, ids, n, range, out, out_stride);
        case 128: return read_rows<128>(data, stride, width, ids, n, range, out, out_stride);
        default: return read_rows<0>(data, stride, width, ids, n, range, out, out_stride);
    }
}

i64 read(const char* data, i64 stride, i64 width, Ids ids, Range range, char* out, i64 out_stride) {
    if (ids.wide) return read_at(data, stride, width, IdsOf<i64>{(const i64*)ids.data}, ids.n, range, out, out_stride);
    return read_at(data, stride, width, IdsOf<i32>{(const i32*)ids.data}, ids.n, range, out, out_stride);
}

// ---- the table -------------------------------------------------------------------------------------------------

template <class Op, class T, int Kind> constexpr Cell cell() {
    if constexpr ((Op::kinds & Kind) != 0) {
        using View = typename Op::template view<T>;
        using Canonical = typename View::canonical;
        return {line<Op, Canonical>, direct<Op, Canonical>, apply<Op, Canonical>, View::factor, (int)sizeof(Canonical)};
    } else {
        return {nullptr, nullptr, nullptr, 0, 0};
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
    read,
    resolve,
    split,
    tag,
    pick,
    resolve_at,
    find_outside,
    find_zero,
};

}  // namespace PS_NAMESPACE
