// The hot loops over bags. CMake compiles this file once per instruction set: see hot.cpp about namespaces.
#include "../combine.h"
#include "bags.h"
#if defined(__F16C__)
#include <immintrin.h>
#endif

#define PS_STRING_(s) #s
#define PS_STRING(s) PS_STRING_(s)

namespace PS_NAMESPACE {
namespace {

using ps::BagCall;
using ps::Fault;

constexpr i64 kLine = 64;
constexpr i64 kAheadNarrow = 32, kAheadWide = 16;  // ids between a prefetch and its use; rows of more than two lines are wide
constexpr i64 kAheadLines = 16;  // lines of a row to prefetch

// ---- ids -----------------------------------------------------------------------------------------------------------

// The row of an id that is missing or outside; -1 if it has none.
__attribute__((noinline, cold)) i64 place_other(const BagCall& call, i64 id, i64 k, Fault* fault) {
    if (call.has_missing && id == call.missing) return -1;
    const i64 size = call.range.size;
    if (id >= 0 && id < size) return id;
    if (call.range.bounds == ps::kDrop) return -1;
    if (call.range.bounds == ps::kClip && size > 0) return id < 0 ? 0 : size - 1;
    if (!*fault || k < fault->position) *fault = {Fault::kIndex, k, id};
    return -1;
}

// What a loop over ids of type I needs of a call, in registers.
template <class I, class T> struct Rows {
    const I* ids;
    const T* data;
    i64 stride, size, missing, bytes;
    const BagCall& call;
    Fault* fault;
    bool aligned;  // no row has a part in one more line than its length says

    Rows(const BagCall& c, Fault* f)
        : ids((const I*)c.ids.data), data((const T*)c.data), stride(c.stride), size(c.range.size), missing(c.missing),
          bytes(c.width * (i64)sizeof(T)), call(c), fault(f),
          aligned((((u64)data | (u64)stride * sizeof(T)) & (kLine - 1)) == 0) {}

    PS_HD i64 id(i64 k) const { return __atomic_load_n(ids + k, __ATOMIC_RELAXED); }
    template <int known> PS_HD const T* at(i64 k) const {  // nullptr: no row
        i64 row = id(k);
        if (__builtin_expect(((u64)row >= (u64)size) | (row == missing), 0)) {
            row = place_other(call, row, k, fault);
            if (row < 0) return nullptr;
        }
        return data + row * (known ? known / (i64)sizeof(T) : stride);
    }
    // `known` is the length of a row in bytes where it is a constant, else 0.
    template <int known> PS_HD void prefetch(i64 k, i64 stop) const {
        const i64 length = known ? known : bytes, ahead = length > 2 * kLine ? kAheadWide : kAheadNarrow;
        if (k + ahead >= stop) return;
        const char* row = (const char*)((u64)data + (u64)id(k + ahead) * (u64)(known ? known / (i64)sizeof(T) : stride) * sizeof(T));
        const i64 reach = length < kAheadLines * kLine ? length : kAheadLines * kLine;
        for (i64 b = 0; b < reach; b += kLine) __builtin_prefetch(row + b);
        if (!aligned) __builtin_prefetch(row + reach - 1);
    }
};

// ---- a vector of sums ------------------------------------------------------------------------------------------------

#if defined(__AVX2__)
constexpr int kVector = 32;  // bytes
#else
constexpr int kVector = 16;
#endif
typedef float floats __attribute__((vector_size(kVector)));
typedef double doubles __attribute__((vector_size(kVector)));
struct __attribute__((packed, may_alias)) FloatsAt { floats v; };
struct __attribute__((packed, may_alias)) DoublesAt { doubles v; };

template <class T> struct Lanes {  // a half type, in float32
    using sums = floats;
    using scalar = float;
    enum { count = kVector / 4 };
    static PS_HD floats load(const T* x) {
        floats v;
        for (int j = 0; j < count; ++j) v[j] = widen(x[j]);
        return v;
    }
    static PS_HD void store(T* x, floats v) {
        for (int j = 0; j < count; ++j) x[j] = typed<T>::store(v[j]);
    }
};
#if defined(__F16C__)
template <> PS_HD floats Lanes<float16>::load(const float16* x) {
    return (floats)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)x));
}
template <> PS_HD void Lanes<float16>::store(float16* x, floats v) {
    _mm_storeu_si128((__m128i*)x, _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
}
#endif
template <> struct Lanes<float> {
    using sums = floats;
    using scalar = float;
    enum { count = kVector / 4 };
    static PS_HD floats load(const float* x) { return ((const FloatsAt*)x)->v; }
    static PS_HD void store(float* x, floats v) { ((FloatsAt*)x)->v = v; }
};
template <> struct Lanes<double> {
    using sums = doubles;
    using scalar = double;
    enum { count = kVector / 8 };
    static PS_HD doubles load(const double* x) { return ((const DoublesAt*)x)->v; }
    static PS_HD void store(double* x, doubles v) { ((DoublesAt*)x)->v = v; }
};

// N of them side by side, as members: an array of vectors would not stay in registers.
template <class T, int N> struct Sums {
    using L = Lanes<T>;
    typename L::sums first = {};
    Sums<T, N - 1> rest;
    PS_HD void add(const T* x) {
        first += L::load(x);
        rest.add(x + L::count);
    }
    PS_HD void add(const T* x, typename L::scalar weight) {
        first += L::load(x) * weight;
        rest.add(x + L::count, weight);
    }
    PS_HD void divide(typename L::scalar by) {
        first /= by;
        rest.divide(by);
    }
    PS_HD void store(T* out) const {
        L::store(out, first);
        rest.store(out + L::count);
    }
};
template <class T> struct Sums<T, 0> {
    using L = Lanes<T>;
    PS_HD void add(const T*) {}
    PS_HD void add(const T*, typename L::scalar) {}
    PS_HD void divide(typename L::scalar) {}
    PS_HD void store(T*) const {}
};

// The columns that fill no vector.
template <class T> struct Tail {
    using scalar = typename Lanes<T>::scalar;
    scalar sum[Lanes<T>::count] = {};
    int width;
    PS_HD void add(const T* x) {
        for (int j = 0; j < width; ++j) sum[j] += typed<T>::load(x[j]);
    }
    PS_HD void add(const T* x, scalar weight) {
        for (int j = 0; j < width; ++j) sum[j] += typed<T>::load(x[j]) * weight;
    }
    PS_HD void divide(scalar by) {
        for (int j = 0; j < width; ++j) sum[j] /= by;
    }
    PS_HD void store(T* out) const {
        for (int j = 0; j < width; ++j) out[j] = typed<T>::store(sum[j]);
    }
};

// ---- sums and means --------------------------------------------------------------------------------------------------

// Columns from `column` on, as many as `sums` holds. Ahead: 0, it fetches nothing ahead; -1, it does; else the bytes of a row,
// which is then all that `sums` holds.
template <bool Mean, bool Weighted, int Ahead, class I, class T, class S>
PS_HD void sum_bag(const Rows<I, T>& rows, i64 begin, i64 end, i64 stop, i64 column, S sums, T* out) {
    const T* weights = (const T*)rows.call.weights;
    i64 taken = 0;
    for (i64 k = begin; k < end; ++k) {
        if (Ahead) rows.template prefetch<(Ahead > 0 ? Ahead : 0)>(k, stop);
        const T* x = rows.template at<(Ahead > 0 ? Ahead : 0)>(k);
        if (__builtin_expect(!x, 0)) continue;
        ++taken;
        if (Weighted)
            sums.add(x + column, typed<T>::load(weights[k]));
        else
            sums.add(x + column);
    }
    if (Mean && taken) sums.divide((typename Lanes<T>::scalar)taken);
    sums.store(out + column);
}

template <bool Mean, bool Weighted, int N, class I, class T>
PS_HD i64 sum_columns(const Rows<I, T>& rows, i64 begin, i64 end, i64 stop, i64 column, T* out) {
    constexpr i64 step = N * Lanes<T>::count;
    for (; column + step <= rows.call.width; column += step)
        if (column == 0)
            sum_bag<Mean, Weighted, -1>(rows, begin, end, stop, 0, Sums<T, N>{}, out);
        else
            sum_bag<Mean, Weighted, 0>(rows, begin, end, stop, column, Sums<T, N>{}, out);
    return column;
}

// Rows of N whole vectors: what the compiler knows then saves a third of the instructions.
template <bool Mean, bool Weighted, int N, class I, class T>
void sum_whole(const BagCall& call, i64 first, i64 last, Fault* fault) {
    const Rows<I, T> rows(call, fault);
    const i64 stop = call.end(last - 1);
    i64 end = call.begin(first);
    for (i64 bag = first; bag < last; ++bag) {
        const i64 begin = end;
        end = call.end(bag);
        T* out = (T*)call.out + bag * N * Lanes<T>::count;
        sum_bag<Mean, Weighted, N * Lanes<T>::count * (int)sizeof(T)>(rows, begin, end, stop, 0, Sums<T, N>{}, out);
    }
}

template <bool Mean, bool Weighted, class I, class T> void sum_bags(const BagCall& call, i64 first, i64 last, Fault* fault) {
    constexpr i64 one = Lanes<T>::count;
    if (first == last) return;
    if (call.width == call.stride && sizeof(typename Lanes<T>::scalar) == sizeof(T))
        switch (call.width) {
            case 2 * one: return sum_whole<Mean, Weighted, 2, I, T>(call, first, last, fault);
            case 4 * one: return sum_whole<Mean, Weighted, 4, I, T>(call, first, last, fault);
            case 8 * one: return sum_whole<Mean, Weighted, 8, I, T>(call, first, last, fault);
        }
    const Rows<I, T> rows(call, fault);
    const i64 stop = call.end(last - 1);
    for (i64 bag = first; bag < last; ++bag) {
        const i64 begin = call.begin(bag), end = call.end(bag);
        T* out = (T*)call.out + bag * call.stride;
        i64 column = sum_columns<Mean, Weighted, 8>(rows, begin, end, stop, 0, out);
        column = sum_columns<Mean, Weighted, 4>(rows, begin, end, stop, column, out);
        column = sum_columns<Mean, Weighted, 2>(rows, begin, end, stop, column, out);
        column = sum_columns<Mean, Weighted, 1>(rows, begin, end, stop, column, out);
        if (column == call.width) continue;
        Tail<T> tail;
        tail.width = (int)(call.width - column);
        if (column == 0)
            sum_bag<Mean, Weighted, -1>(rows, begin, end, stop, 0, tail, out);
        else
            sum_bag<Mean, Weighted, 0>(rows, begin, end, stop, column, tail, out);
    }
}

template <class T, bool Mean> void sum_any(const BagCall& call, i64 first, i64 last, Fault* fault) {
    const bool weighted = !Mean && call.weights;
    if (call.ids.wide)
        weighted ? sum_bags<false, true, i64, T>(call, first, last, fault) : sum_bags<Mean, false, i64, T>(call, first, last, fault);
    else
        weighted ? sum_bags<false, true, i32, T>(call, first, last, fault) : sum_bags<Mean, false, i32, T>(call, first, last, fault);
}

// ---- maxima ----------------------------------------------------------------------------------------------------------

template <class I, class T> void max_bags(const BagCall& call, i64 first, i64 last, Fault* fault) {
    const Rows<I, T> rows(call, fault);
    const i64 stop = first < last ? call.end(last - 1) : 0, width = call.width;
    for (i64 bag = first; bag < last; ++bag) {
        T* __restrict out = (T*)call.out + bag * call.stride;
        i64* __restrict winners = call.winners ? call.winners + bag * call.stride : nullptr;
        bool empty = true;
        for (i64 k = call.begin(bag), end = call.end(bag); k < end; ++k) {
            rows.template prefetch<0>(k, stop);
            const T* __restrict x = rows.template at<0>(k);
            if (!x) continue;
            if (empty) {
                __builtin_memcpy(out, x, (unsigned long)width * sizeof(T));
                for (i64 j = 0; winners && j < width; ++j) winners[j] = k;
                empty = false;
                continue;
            }
            for (i64 j = 0; winners && j < width; ++j) {
                const auto u = typed<T>::load(x[j]), best = typed<T>::load(out[j]);
                if (u > best || (u != u && best == best)) winners[j] = k;
            }
            for (i64 j = 0; j < width; ++j) out[j] = op_max::apply(out[j], x[j]);
        }
        if (empty) {
            __builtin_memset(out, 0, (unsigned long)width * sizeof(T));
            for (i64 j = 0; winners && j < width; ++j) winners[j] = -1;
        }
    }
}

template <class T> void max_any(const BagCall& call, i64 first, i64 last, Fault* fault) {
    call.ids.wide ? max_bags<i64, T>(call, first, last, fault) : max_bags<i32, T>(call, first, last, fault);
}

template <class T, int Kind> constexpr ps::BagFn choose(int mode) {
    if constexpr (Kind == PS_REAL)
        return mode == ps::kBagSum ? sum_any<T, false> : mode == ps::kBagMean ? sum_any<T, true> : max_any<T>;
    else
        return nullptr;
}

}  // namespace

extern const ps::BagTable bag_table;
const ps::BagTable bag_table = {
    PS_STRING(PS_ISA_NAME),
    {
#define PS_DTYPE(name, type, kind) choose<type, kind>(ps::kBagSum),
        {
#include "../dtypes.def"
        },
#undef PS_DTYPE
#define PS_DTYPE(name, type, kind) choose<type, kind>(ps::kBagMean),
        {
#include "../dtypes.def"
        },
#undef PS_DTYPE
#define PS_DTYPE(name, type, kind) choose<type, kind>(ps::kBagMax),
        {
#include "../dtypes.def"
        },
#undef PS_DTYPE
    },
};

}  // namespace PS_NAMESPACE
