// The loops over ids, targets and divisors, for hot.cpp alone: see there about namespaces.
#pragma once
#include "hot.h"
#include "../combine.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace PS_NAMESPACE {
namespace {

using ps::Ids;
using ps::Owner;
using ps::Range;

constexpr i64 kScreen = 2048;  // ids screened without a branch

// Another thread may be rewriting the ids: each read counts once.
template <class I> PS_HD i64 read_id(const I* id) { return __atomic_load_n(id, __ATOMIC_RELAXED); }

// The row of an id that is not in [0, size); -1 if it has none.
__attribute__((noinline, cold)) i64 place_outside(i64 id, Range range) {
    if (range.wrap && id < 0) id += range.size;
    if (id >= 0 && id < range.size) return id;
    if (range.bounds == ps::kClip) return id < 0 ? 0 : range.size - 1;
    return -1;
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

// ---- targets by bucket --------------------------------------------------------------------------------------------

i64 tag(Ids ids, Range range, Owner owner, u8* tags) {
    i64 rows[ps::kBlock];
    for (i64 start = 0; start < ids.n; start += ps::kBlock) {
        const i64 n = start + ps::kBlock < ids.n ? ps::kBlock : ids.n - start;
        const i64 none = resolve(ids.part(start, n), range, rows);
        for (i64 i = 0; i < n; ++i) tags[start + i] = (u8)ps::owner_of(rows[i], owner);
        if (!none) continue;
        for (i64 i = 0; i < n; ++i) {
            if (rows[i] >= 0) continue;
            if (range.bounds == ps::kRaise) return start + i;
            tags[start + i] = ps::kNoTag;
        }
    }
    return ids.n;
}

i64 pick(const u8* tags, i64 n, const u8* wanted, int count, i64 first, i64* pos) {
    i64 kept = 0, i = 0;
    typedef u8 Tags __attribute__((vector_size(32), aligned(1), may_alias));
    for (; i + 32 <= n; i += 32) {
        const Tags seen = *(const Tags*)(tags + i);
        Tags hit = {};
        for (int k = 0; k < count; ++k) hit |= (Tags)(seen == wanted[k]);
#if defined(__AVX2__)
        for (u32 bits = (u32)_mm256_movemask_epi8((__m256i)hit); bits; bits &= bits - 1)
            pos[kept++] = first + i + __builtin_ctz(bits);
#else
        for (int j = 0; j < 32; ++j) {
            pos[kept] = first + i + j;
            kept += hit[j] & 1;
        }
#endif
    }
    for (; i < n; ++i) {
        bool hit = false;
        for (int k = 0; k < count; ++k) hit |= tags[i] == wanted[k];
        pos[kept] = first + i;
        kept += hit;
    }
    return kept;
}

i64 resolve_at(Ids ids, Range range, i64* pos, i64 n, i64* rows) {
    i64 kept = 0;
    for (i64 i = 0; i < n; ++i) {
        i64 row = ids.wide ? read_id((const i64*)ids.data + pos[i]) : read_id((const i32*)ids.data + pos[i]);
        if (__builtin_expect((u64)row >= (u64)range.size, 0)) row = place_outside(row, range);
        rows[kept] = row;
        pos[kept] = pos[i];
        kept += row >= 0;
    }
    return kept;
}

}  // namespace
}  // namespace PS_NAMESPACE
