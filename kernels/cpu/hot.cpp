// The hot loops. CMake compiles this file once per instruction set, with PS_NAMESPACE set to ps_<name>: no function
// of one build may stand in for that of another, so everything here is internal or in that namespace, and the
// standard library stays out.
#include "hot.h"
#include "../combine.h"
#if defined(__F16C__)
#include <immintrin.h>
#endif

#define PS_STRING_(s) #s
#define PS_STRING(s) PS_STRING_(s)

namespace PS_NAMESPACE {
namespace {

using ps::Cell;
using ps::CellRow;
using ps::Hot;
using ps::Ids;
using ps::Owner;
using ps::Range;

constexpr i64 kLine = 64;       // bytes of a cache line
constexpr i64 kAhead = 16;      // rows between a prefetch and its use
constexpr i64 kAheadLines = 8;  // lines of a row to prefetch: in longer rows the hardware has caught up
constexpr i64 kScreen = 2048;   // ids screened without a branch

// ---- one row ---------------------------------------------------------------------------------------------------

template <class Op, class T, int N> struct Lanes {
    static PS_HD void apply(T* __restrict x, const T* __restrict u) {
        for (int j = 0; j < N; ++j) x[j] = Op::apply(x[j], u[j]);
    }
};

#if defined(__F16C__)
template <class Op, int N> PS_HD void lanes_f16c(float16* __restrict x, const float16* __restrict u) {
    for (int j = 0; j < N; j += 8) {
        float a[8], b[8];
        _mm256_storeu_ps(a, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(x + j))));
        _mm256_storeu_ps(b, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(u + j))));
        for (int k = 0; k < 8; ++k) a[k] = Op::on(a[k], b[k]);
        _mm_storeu_si128((__m128i*)(x + j), _mm256_cvtps_ph(_mm256_loadu_ps(a), _MM_FROUND_TO_NEAREST_INT));
    }
}
template <class Op> struct Lanes<Op, float16, 8> {
    static PS_HD void apply(float16* x, const float16* u) { lanes_f16c<Op, 8>(x, u); }
};
template <class Op> struct Lanes<Op, float16, 16> {
    static PS_HD void apply(float16* x, const float16* u) { lanes_f16c<Op, 16>(x, u); }
};
template <class Op> struct Lanes<Op, float16, 32> {
    static PS_HD void apply(float16* x, const float16* u) { lanes_f16c<Op, 32>(x, u); }
};
#endif

template <class Op, class T> PS_HD void combine_row(T* x, const T* u, i64 width) {
    constexpr int line = (int)(kLine / sizeof(T)), part = line / 4;
    i64 j = 0;
    for (; j + line <= width; j += line) Lanes<Op, T, line>::apply(x + j, u + j);
    for (; j + part <= width; j += part) Lanes<Op, T, part>::apply(x + j, u + j);
    if (part > 1)
        for (; j < width; ++j) Lanes<Op, T, 1>::apply(x + j, u + j);
}

// ---- a block of rows -------------------------------------------------------------------------------------------

// NumPy aligns to 16 bytes: a row may begin inside a line, and then ends in one more.
PS_HD void prefetch_row(const char* row, i64 bytes) {
    const i64 reach = bytes < kAheadLines * kLine ? bytes : kAheadLines * kLine;
    for (i64 b = 0; b < reach; b += kLine) __builtin_prefetch(row + b, 1);
    if (bytes > 8) __builtin_prefetch(row + reach - 1, 1);
}

template <class Op, class T, int Fixed>
void block(T* data, i64 stride, i64 width, const i64* rows, const i64* pos, i64 n, const T* updates) {
    if (Fixed) stride = width = Fixed;
    for (i64 i = 0; i < n; ++i) {
        if (i + kAhead < n) {
            prefetch_row((const char*)(data + rows[i + kAhead] * stride), width * (i64)sizeof(T));
            if (pos && width * sizeof(T) >= kLine / 2)
                prefetch_row((const char*)(updates + pos[i + kAhead] * stride), width * (i64)sizeof(T));
        }
        T* x = data + rows[i] * stride;
        const T* u = updates + (pos ? pos[i] : i) * stride;
        if (Fixed)
            Lanes<Op, T, Fixed ? Fixed : 1>::apply(x, u);
        else
            combine_row<Op, T>(x, u, width);
    }
}

template <class Op, class T>
void apply(char* data, i64 stride, i64 width, const i64* rows, const i64* pos, i64 n, const char* updates) {
    T* x = (T*)data;
    const T* u = (const T*)updates;
    switch (width == stride ? width : 0) {
        case 1: return block<Op, T, 1>(x, stride, width, rows, pos, n, u);
        case 2: return block<Op, T, 2>(x, stride, width, rows, pos, n, u);
        case 4: return block<Op, T, 4>(x, stride, width, rows, pos, n, u);
        case 8: return block<Op, T, 8>(x, stride, width, rows, pos, n, u);
        case 16: return block<Op, T, 16>(x, stride, width, rows, pos, n, u);
        default: return block<Op, T, 0>(x, stride, width, rows, pos, n, u);
    }
}

// ---- straight from the ids ----------------------------------------------------------------------------------------

template <class I> struct IdsOf {
    const I* ids;
    PS_HD i64 operator[](i64 i) const { return __atomic_load_n(ids + i, __ATOMIC_RELAXED); }
};
struct IdsEither {  // for rows wide enough to hide the branch
    Ids ids;
    PS_HD i64 operator[](i64 i) const {
        return ids.wide ? IdsOf<i64>{(const i64*)ids.data}[i] : IdsOf<i32>{(const i32*)ids.data}[i];
    }
};

// The row of an id that is not in [0, size); -1 if it has none.
__attribute__((noinline, cold)) i64 place_outside(i64 id, Range range) {
    if (range.wrap && id < 0) id += range.size;
    if (id >= 0 && id < range.size) return id;
    if (range.bounds == ps::kClip) return id < 0 ? 0 : range.size - 1;
    return -1;
}

template <class Op, class T, int Fixed, bool Ahead, class At>
void direct_rows(T* data, i64 stride, i64 width, At ids, i64 n, Range range, const T* updates) {
    if (Fixed) stride = width = Fixed;
    const i64 bytes = width * (i64)sizeof(T);
    const bool stripe = width < stride;  // whoever reads only a part of each update must fetch it himself
    for (i64 i = 0; i < n; ++i) {
        if (Ahead && i + kAhead < n) {
            prefetch_row((const char*)((u64)data + (u64)ids[i + kAhead] * (u64)stride * sizeof(T)), bytes);
            if (!Fixed && stripe) prefetch_row((const char*)(updates + (i + kAhead) * stride), bytes);
        }
        i64 row = ids[i];
        if (__builtin_expect((u64)row >= (u64)range.size, 0)) {
            row = place_outside(row, range);
            if (row < 0) continue;
        }
        T* x = data + row * stride;
        const T* u = updates + i * stride;
        if (Fixed)
            Lanes<Op, T, Fixed ? Fixed : 1>::apply(x, u);
        else
            combine_row<Op, T>(x, u, width);
    }
}

template <class Op, class T, class I>
void direct_cells(T* data, const I* ids, i64 n, Range range, const T* updates) {
    constexpr i64 kNear = 1 << 17;  // bytes of a table that the second-level cache holds: fetching ahead only costs
    if (range.size * (i64)sizeof(T) > kNear)
        direct_rows<Op, T, 1, true>(data, 1, 1, IdsOf<I>{ids}, n, range, updates);
    else
        direct_rows<Op, T, 1, false>(data, 1, 1, IdsOf<I>{ids}, n, range, updates);
}

template <class Op, class T>
void direct(char* data, i64 stride, i64 width, Ids ids, Range range, const char* updates) {
    T* x = (T*)data;
    const T* u = (const T*)updates;
    const IdsEither at{ids};
    switch (width == stride ? width : 0) {
        case 1:
            if (ids.wide) return direct_cells<Op, T>(x, (const i64*)ids.data, ids.n, range, u);
            return direct_cells<Op, T>(x, (const i32*)ids.data, ids.n, range, u);
        case 2: return direct_rows<Op, T, 2, true>(x, stride, width, at, ids.n, range, u);
        case 4: return direct_rows<Op, T, 4, true>(x, stride, width, at, ids.n, range, u);
        case 8: return direct_rows<Op, T, 8, true>(x, stride, width, at, ids.n, range, u);
        case 16: return direct_rows<Op, T, 16, true>(x, stride, width, at, ids.n, range, u);
        default: return direct_rows<Op, T, 0, true>(x, stride, width, at, ids.n, range, u);
    }
}

// ---- targets by owner ---------------------------------------------------------------------------------------------

i64 split(const i64* targets, i64 n, i64 first, Owner owner, i64* rows, i64* pos) {
    i64 kept = 0, i = 0;
#if defined(__AVX2__)
    static_assert(ps::kSplitRoom >= 4, "whole vectors are stored");
    // Lane permutations that move the chosen ones of four 64-bit lanes to the front.
    alignas(32) static const int front[16][8] = {
#define PS_LANE(k) 2 * (k), 2 * (k) + 1
#define PS_FOUR(a, b, c, d) {PS_LANE(a), PS_LANE(b), PS_LANE(c), PS_LANE(d)}
        PS_FOUR(0, 0, 0, 0), PS_FOUR(0, 0, 0, 0), PS_FOUR(1, 0, 0, 0), PS_FOUR(0, 1, 0, 0),
        PS_FOUR(2, 0, 0, 0), PS_FOUR(0, 2, 0, 0), PS_FOUR(1, 2, 0, 0), PS_FOUR(0, 1, 2, 0),
        PS_FOUR(3, 0, 0, 0), PS_FOUR(0, 3, 0, 0), PS_FOUR(1, 3, 0, 0), PS_FOUR(0, 1, 3, 0),
        PS_FOUR(2, 3, 0, 0), PS_FOUR(0, 2, 3, 0), PS_FOUR(1, 2, 3, 0), PS_FOUR(0, 1, 2, 3),
#undef PS_FOUR
#undef PS_LANE
    };
    const __m128i shift = _mm_cvtsi32_si128(owner.shift);
    const __m256i spread = _mm256_set1_epi64x(ps::kSpread), parts = _mm256_set1_epi64x(owner.parts);
    const __m256i self = _mm256_set1_epi64x(owner.self), four = _mm256_set1_epi64x(4);
    __m256i place = _mm256_setr_epi64x(first, first + 1, first + 2, first + 3);
    for (; i + 4 <= n; i += 4) {
        const __m256i target = _mm256_loadu_si256((const __m256i*)(targets + i));
        const __m256i group = _mm256_srl_epi64(target, shift);
        const __m256i hash = _mm256_mul_epu32(_mm256_xor_si256(group, _mm256_srli_epi64(group, 32)), spread);
        const __m256i theirs = _mm256_srli_epi64(_mm256_mul_epu32(hash, parts), 32);
        const __m256i mine = _mm256_andnot_si256(target, _mm256_cmpeq_epi64(theirs, self));  // the sign: not below 0
        const int chosen = _mm256_movemask_pd(_mm256_castsi256_pd(mine));
        const __m256i order = _mm256_load_si256((const __m256i*)front[chosen]);
        _mm256_storeu_si256((__m256i*)(rows + kept), _mm256_permutevar8x32_epi32(target, order));
        _mm256_storeu_si256((__m256i*)(pos + kept), _mm256_permutevar8x32_epi32(place, order));
        kept += __builtin_popcount((unsigned)chosen);
        place = _mm256_add_epi64(place, four);
    }
#endif
    for (; i < n; ++i) {
        rows[kept] = targets[i];
        pos[kept] = first + i;
        kept += (targets[i] >= 0) & (ps::owner_of(targets[i], owner) == owner.self);
    }
    return kept;
}

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

// ---- ids and divisors ------------------------------------------------------------------------------------------

template <class I> void widen_ids(const I* ids, i64 n, i64* rows) {
    for (i64 i = 0; i < n; ++i) rows[i] = ids[i];
}

i64 resolve(Ids ids, Range range, i64* rows) {
    const i64 n = ids.n, size = range.size;
    if (ids.wide)
        widen_ids((const i64*)ids.data, n, rows);
    else
        widen_ids((const i32*)ids.data, n, rows);
    // From here on only the private copy counts: the compiler may not go back to ids for a second look.
    __asm__ volatile("" ::: "memory");
    if (range.wrap)
        for (i64 i = 0; i < n; ++i) rows[i] += rows[i] < 0 ? size : 0;
    if (range.bounds == ps::kClip) {
        for (i64 i = 0; i < n; ++i) {
            const i64 low = rows[i] < 0 ? 0 : rows[i];
            rows[i] = low < size ? low : size - 1;
        }
        return 0;
    }
    i64 missing = 0;
    for (i64 i = 0; i < n; ++i) {
        const i64 outside = (rows[i] < 0) | (rows[i] >= size) ? -1 : 0;
        rows[i] |= outside;
        missing -= outside;
    }
    return missing;
}

// lowest and highest are inclusive, so that they fit the id's own type.
template <class I> i64 first_outside(const I* ids, i64 n, I lowest, I highest, i64* value) {
    using U = typename unsigned_of<I>::type;
    for (i64 start = 0; start < n; start += kScreen) {
        const i64 stop = start + kScreen < n ? start + kScreen : n;
        U bad = 0;  // the sign of either difference; where one of them wraps, the other shows it
        for (i64 i = start; i < stop; ++i) bad |= ((U)ids[i] - (U)lowest) | ((U)highest - (U)ids[i]);
        if ((I)bad >= 0) continue;
        for (i64 i = start; i < stop; ++i) {
            const I id = ids[i];
            if (id < lowest || id > highest) {
                *value = id;
                return i;
            }
        }
    }
    return n;
}

i64 find_outside(Ids ids, i64 low, i64 high, i64* value) {
    const i64 highest = high - 1;
    if (ids.wide) return first_outside((const i64*)ids.data, ids.n, low, highest, value);
    constexpr i64 least = -0x80000000LL, most = 0x7fffffffLL;
    return first_outside((const i32*)ids.data, ids.n, (i32)(low < least ? least : low),
                         (i32)(highest > most ? most : highest), value);
}

template <class T> i64 first_zero(const T* items, i64 n) {
    for (i64 start = 0; start < n; start += kScreen) {
        const i64 stop = start + kScreen < n ? start + kScreen : n;
        T zero = 0;
        for (i64 i = start; i < stop; ++i) zero |= (T)(items[i] == 0);
        if (!zero) continue;
        for (i64 i = start; i < stop; ++i)
            if (items[i] == 0) return i;
    }
    return n;
}

i64 find_zero(const char* items, int size, i64 n) {
    switch (size) {
        case 1: return first_zero((const u8*)items, n);
        case 2: return first_zero((const u16*)items, n);
        case 4: return first_zero((const u32*)items, n);
        default: return first_zero((const u64*)items, n);
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
    find_outside,
    find_zero,
};

}  // namespace PS_NAMESPACE
