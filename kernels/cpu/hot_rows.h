// The loops over rows, for hot.cpp alone: see there about namespaces.
#pragma once
#include "hot.h"
#include "../combine.h"
#include "hot_ids.h"
#include "pack.h"
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace PS_NAMESPACE {
namespace {

using ps::Ids;
using ps::Range;

constexpr i64 kLine = 64;       // bytes of a cache line
constexpr i64 kAhead = 16;      // rows between a prefetch and its use
constexpr i64 kNear = 1 << 17;  // bytes of a table that the second-level cache holds: fetching ahead only costs
constexpr i64 kAheadLines = 8;  // lines of a row to prefetch: in longer rows the hardware has caught up

// ---- one row ---------------------------------------------------------------------------------------------------

template <class Op, class T, int N> struct Lanes {
    static PS_HD void apply(T* __restrict x, const T* __restrict u) {
        if constexpr (packable<Op, T>() && N > 1) {
            constexpr int bytes = N * (int)sizeof(T), size = bytes < kVector ? bytes : kVector, packs = bytes / size;
            constexpr int step = size / (int)sizeof(T);
            using Pack = pack<T, size>;
            Pack a[packs];
            for (int k = 0; k < packs; ++k) a[k] = Op::on(Pack::load(x + k * step), Pack::load(u + k * step));
            for (int k = 0; k < packs; ++k) a[k].store(x + k * step);
        } else if constexpr (packable<Op, T>() && N == 1 && !is_number<T>::integer) {
            using Pack = pack<T, 16>;  // one float in a register of its own: selects instead of branches
            *x = Op::on(Pack{{*x}}, Pack{{*u}}).v[0];
        } else {
            for (int j = 0; j < N; ++j) x[j] = Op::apply(x[j], u[j]);
        }
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
    PS_HD i64 operator[](i64 i) const { return read_id(ids + i); }
};
struct IdsEither {  // for rows wide enough to hide the branch
    Ids ids;
    PS_HD i64 operator[](i64 i) const {
        return ids.wide ? IdsOf<i64>{(const i64*)ids.data}[i] : IdsOf<i32>{(const i32*)ids.data}[i];
    }
};

template <class Op, class T, int Fixed, bool Ahead, class At>
i64 direct_rows(T* data, i64 stride, i64 width, At ids, i64 n, Range range, const T* updates) {
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
            if (row < 0) {
                if (range.bounds == ps::kRaise) return i;
                continue;
            }
        }
        T* x = data + row * stride;
        const T* u = updates + i * stride;
        if (Fixed)
            Lanes<Op, T, Fixed ? Fixed : 1>::apply(x, u);
        else
            combine_row<Op, T>(x, u, width);
    }
    return n;
}

template <class Op, class T, class I>
i64 direct_cells(T* data, const I* ids, i64 n, Range range, const T* updates) {
    if (range.size * (i64)sizeof(T) > kNear)
        return direct_rows<Op, T, 1, true>(data, 1, 1, IdsOf<I>{ids}, n, range, updates);
    return direct_rows<Op, T, 1, false>(data, 1, 1, IdsOf<I>{ids}, n, range, updates);
}

template <class Op, class T>
i64 direct(char* data, i64 stride, i64 width, Ids ids, Range range, const char* updates) {
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

// ---- cells along a line -------------------------------------------------------------------------------------------

template <class Op, class T, bool Last, bool Single, class I>
void line_of(T* data, i64 factor, i64 step, i64 axis_step, const I* ids, i64 n, Range range, const T* updates) {
    if (Single) factor = 1;
    if (Last) step = 0, axis_step = 1;
    for (i64 i = 0; i < n; ++i) {
        i64 id = read_id(ids + i);
        if (__builtin_expect((u64)id >= (u64)range.size, 0)) {
            id = place_outside(id, range);
            if (id < 0) continue;
        }
        T* x = data + (i * step + id * axis_step) * factor;
        if (Single)
            Lanes<Op, T, 1>::apply(x, updates + i);
        else
            combine_row<Op, T>(x, updates + i * factor, factor);
    }
}

template <class Op, class T, class I>
void line_by(T* data, i64 factor, i64 step, i64 axis_step, const I* ids, i64 n, Range range, const T* updates) {
    if (factor != 1) return line_of<Op, T, false, false>(data, factor, step, axis_step, ids, n, range, updates);
    if (step == 0 && axis_step == 1) return line_of<Op, T, true, true>(data, 1, 0, 1, ids, n, range, updates);
    return line_of<Op, T, false, true>(data, 1, step, axis_step, ids, n, range, updates);
}

template <class Op, class T>
void line(char* data, i64 factor, i64 step, i64 axis_step, Ids ids, Range range, const char* updates) {
    T* x = (T*)data;
    const T* u = (const T*)updates;
    if (ids.wide) return line_by<Op, T>(x, factor, step, axis_step, (const i64*)ids.data, ids.n, range, u);
    return line_by<Op, T>(x, factor, step, axis_step, (const i32*)ids.data, ids.n, range, u);
}

}  // namespace
}  // namespace PS_NAMESPACE
