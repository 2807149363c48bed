// The loops of the optimizers and of sums by id. Compiled once per instruction set, like hot.cpp: see there about namespaces.
#include "optim.h"
#include "../combine.h"
#include "../optim.h"

#define PS_STRING_(s) #s
#define PS_STRING(s) PS_STRING_(s)

namespace PS_NAMESPACE {
namespace {

using ps::Keys;
using ps::Presummed;
using ps::Step;

constexpr i64 kLine = 64;
constexpr i64 kFar = 16;        // keys between a prefetch and its use
constexpr i64 kRowsAhead = 8;   // segments between a prefetch of their row and its use
constexpr i64 kSegments = 512;  // looked at before they are worked on
constexpr i64 kFetched = 8;     // lines of a row to fetch: in longer rows the hardware has caught up
constexpr i64 kBlockCells = 1024;  // cells widened at a time where whole spans of a table are done

template <class T> using Wide = typename typed<T>::type;
template <class A, class B> struct same { enum { value = 0 }; };
template <class A> struct same<A, A> { enum { value = 1 }; };

template <int Write> PS_HD void fetch(const char* row, i64 bytes) {
    const i64 reach = bytes < kFetched * kLine ? bytes : kFetched * kLine;
    for (i64 b = 0; b < reach; b += kLine) __builtin_prefetch(row + b, Write);
    if (bytes > 8) __builtin_prefetch(row + reach - 1, Write);
}

// ---- sums -----------------------------------------------------------------------------------------------------

#if defined(__AVX512F__)
constexpr int kVector = 64;
#elif defined(__AVX2__)
constexpr int kVector = 32;
#else
constexpr int kVector = 16;
#endif

// How updates of a type are added: a half type in float, and a sum of several is rounded once.
template <class T> struct Adding {
    using type = T;
    static PS_HD T load(T u) { return u; }
    static PS_HD T add(T sum, T u) { return op_add::apply(sum, u); }
    static PS_HD T store(T sum) { return sum; }
};
template <class T> struct AddingHalf {
    using type = float;
    static PS_HD float load(T u) { return typed<T>::load(u); }
    static PS_HD float add(float sum, T u) { return sum + typed<T>::load(u); }
    static PS_HD T store(float sum) { return typed<T>::store(sum); }
};
template <> struct Adding<float16> : AddingHalf<float16> {};
template <> struct Adding<bfloat16> : AddingHalf<bfloat16> {};

// Cells of the sum of the updates of the keys [begin, end), in their order. It stays in registers: in memory each addition
// would wait for the store before it.
template <int Cells, class T, class V>
PS_HD void sum_cells(V* __restrict sum, const T* __restrict u, i64 width, const Keys& keys, i64 begin, i64 end) {
    V held[Cells];
    const T* first = u + keys.pos(begin) * width;
    for (int j = 0; j < Cells; ++j) held[j] = Adding<T>::load(first[j]);
    for (i64 i = begin + 1; i < end; ++i) {
        if (i + kFar < keys.n) fetch<0>((const char*)(u + keys.pos(i + kFar) * width), Cells * (i64)sizeof(T));
        const T* more = u + keys.pos(i) * width;
        for (int j = 0; j < Cells; ++j) held[j] = Adding<T>::add(held[j], more[j]);
    }
    for (int j = 0; j < Cells; ++j) sum[j] = held[j];
}

// n of `width` cells.
template <class T, class V> void sum_row(V* sum, const T* u, i64 width, i64 n, const Keys& keys, i64 begin, i64 end) {
    constexpr int lanes = kVector / (int)sizeof(V);
    i64 j = 0;
    for (; j + 8 * lanes <= n; j += 8 * lanes) sum_cells<8 * lanes>(sum + j, u + j, width, keys, begin, end);
    for (; j + lanes <= n; j += lanes) sum_cells<lanes>(sum + j, u + j, width, keys, begin, end);
    for (; j < n; ++j) sum_cells<1>(sum + j, u + j, width, keys, begin, end);
    // A sum of several is a value of T: what coalesce() gives and what a step takes are the same.
    if (sizeof(T) < sizeof(V))
        for (j = 0; j < n; ++j) sum[j] = Adding<T>::load(Adding<T>::store(sum[j]));
}

template <class T>
void stripe(const char* updates, i64 width, const Keys& keys, i64 begin, i64 end, i64 from, i64 to, char* sum) {
    sum_row((Wide<T>*)sum + from, (const T*)updates + from, width, to - from, keys, begin, end);
}

template <class T>
void sums(const char* values, i64 width, const Keys& keys, i64 begin, i64 end, char* out, char* scratch) {
    using V = typename Adding<T>::type;
    const T* u = (const T*)values;
    T* to = (T*)out;
    for (i64 i = begin; i < end; to += width) {
        const i64 id = keys.id(i);
        i64 j = i + 1;
        while (j < end && keys.id(j) == id) ++j;
        if (i + kFar < keys.n) fetch<0>((const char*)(u + keys.pos(i + kFar) * width), width * (i64)sizeof(T));
        if (j - i == 1) {
            __builtin_memcpy(to, u + keys.pos(i) * width, (unsigned long)width * sizeof(T));
        } else if constexpr (same<T, V>::value) {
            sum_row(to, u, width, width, keys, i, j);
        } else {
            V* sum = (V*)scratch;
            sum_row(sum, u, width, width, keys, i, j);
            for (i64 k = 0; k < width; ++k) to[k] = Adding<T>::store(sum[k]);
        }
        i = j;
    }
}

// ---- one row --------------------------------------------------------------------------------------------------

template <class V> PS_HD void scalars_of(const Step& s, i64 step, int varying, int constants, V* h) {
    const double* row = s.varying + (step - s.first) * varying;
    for (int k = 0; k < varying; ++k) h[k] = (V)row[k];
    for (int k = 0; k < constants; ++k) h[varying + k] = (V)s.constants[k];
}

template <class T, class V> PS_HD void widen_row(V* __restrict out, const T* __restrict u, i64 n) {
    for (i64 j = 0; j < n; ++j) out[j] = typed<T>::load(u[j]);
}

// Not inlined: each rule has many callers for its few loops.
template <class Rule, int Cells, class T, class V>
__attribute__((noinline)) void step_cells(const Rule rule, T* __restrict x, const V* __restrict g, V* __restrict a, V* __restrict b, V* __restrict c, i64 n) {
    for (i64 j = 0; j < n; ++j) {
        V p = 0, q = 0, r = 0;
        if (Cells > 0) p = a[j];
        if (Cells > 1) q = b[j];
        if (Cells > 2) r = c[j];
        x[j] = typed<T>::store(rule.step(typed<T>::load(x[j]), g[j], p, q, r));
        if (Cells > 0) a[j] = p;
        if (Cells > 1) b[j] = q;
        if (Cells > 2) c[j] = r;
    }
}

template <class V> PS_HD void add_squares(double* lane, const V* v, i64 n) {
    i64 j = 0;
    for (; j + square_lanes <= n; j += square_lanes)
        for (int k = 0; k < square_lanes; ++k) lane[k] = lane[k] + (double)v[j + k] * (double)v[j + k];
    for (int k = 0; j < n; ++j, ++k) lane[k] = lane[k] + (double)v[j] * (double)v[j];
}

template <class T> __attribute__((noinline)) double squares_of_row(const T* x, i64 n) {
    double lane[square_lanes] = {};
    Wide<T> part[64];
    for (i64 j = 0; j < n; j += 64) {
        const i64 m = n - j < 64 ? n - j : 64;
        widen_row(part, x + j, m);
        add_squares(lane, part, m);
    }
    return squares_of(lane);
}

// u becomes the direction.
template <class Rule, int Cells, class T, class V>
__attribute__((noinline)) void step_row(const Rule rule, T* __restrict x, V* __restrict u, V* __restrict a, V* __restrict b, V* row, i64 n) {
    const double weights = Rule::weighs ? squares_of_row(x, n) : 0;
    for (i64 j = 0; j < n; ++j) {
        V p = 0, q = 0;
        if (Cells > 0) p = a[j];
        if (Cells > 1) q = b[j];
        u[j] = rule.direction(typed<T>::load(x[j]), u[j], p, q);
        if (Cells > 0) a[j] = p;
        if (Cells > 1) b[j] = q;
    }
    double lane[square_lanes] = {};
    add_squares(lane, u, n);
    V none = 0;
    const V k = rule.factor(weights, squares_of(lane), n, row ? *row : none);
    for (i64 j = 0; j < n; ++j) x[j] = typed<T>::store(rule.finish(typed<T>::load(x[j]), u[j], k));
}

template <class T> __attribute__((noinline)) void limit_row(T* x, i64 n, double max_norm) {
    const double norm = root(squares_of_row(x, n));
    if (!(norm > max_norm)) return;
    const Wide<T> factor = (Wide<T>)(max_norm / norm);
    for (i64 j = 0; j < n; ++j) x[j] = typed<T>::store(typed<T>::load(x[j]) * factor);
}

// ---- one table ------------------------------------------------------------------------------------------------

template <class Rule, class T, int Cells, int Rows, int Varying, int Constants> struct Table {
    using V = Wide<T>;
    const Step& s;
    V* sum;    // of a row's updates
    V* still;  // zeros
    V h[ps::kMostScalars];

    Table(const Step& step, char* scratch) : s(step), sum((V*)scratch) {
        const i64 room = s.width > kBlockCells ? s.width : kBlockCells;
        still = sum + room;
        if (s.last)
            for (i64 j = 0; j < s.width; ++j) still[j] = 0;
        scalars_of(s, s.step, Varying, Constants, h);
    }

    PS_HD T* data(i64 row) const { return (T*)s.data + row * s.width; }
    PS_HD V* cell(int k, i64 row) const { return k < Cells ? (V*)s.state[k] + row * s.width : nullptr; }

    PS_HD void fetch_row(i64 row) const {
        fetch<1>((const char*)data(row), s.width * (i64)sizeof(T));
        for (int k = 0; k < Cells; ++k) fetch<1>((const char*)cell(k, row), s.width * (i64)sizeof(V));
        if (Rows) __builtin_prefetch((V*)s.state[Cells] + row, 1);
        if (s.last) __builtin_prefetch(s.last + row, 1);
    }

    void move(i64 row, const V* g, const V* scalars) const {
        const Rule rule(scalars);
        T* x = data(row);
        if constexpr (Rule::by_row)
            step_row<Rule, Cells>(rule, x, (V*)g, cell(0, row), cell(1, row), Rows ? (V*)s.state[Cells] + row : nullptr, s.width);
        else
            step_cells<Rule, Cells>(rule, x, g, cell(0, row), cell(1, row), cell(2, row), s.width);
        if (s.max_norm > 0) limit_row(x, s.width, s.max_norm);
    }

    // The row after the steps it has missed, up to `target`: the same as if each had come with a gradient of zeros.
    void catch_up(i64 row, i64 target) const;

    void update(i64 row, const V* g) const {
        if (s.last) {
            catch_up(row, g ? s.step - 1 : s.step);
            s.last[row] = s.step;
        }
        if (g) move(row, g, h);
    }
};

constexpr int kGlance = 16;  // steps between two looks whether a row has come to rest

// Whether no step can move x again: the largest one, rate * m / epsilon, is lost when it is subtracted from x. Each rounding
// is monotone, and |m| does not grow, so this holds for all that follow. (-0 - -0 is +0: a zero must have come to rest itself.)
template <class T, class V> bool at_rest(const T* x, const V* m, i64 n, V most, V epsilon) {
    const V unit = sizeof(V) == 4 ? (V)0x1p-26 : (V)0x1p-55;
    bool rest = true;
    for (i64 j = 0; j < n; ++j) {
        const V weight = typed<T>::load(x[j]);
        const V size = (m[j] < 0 ? -m[j] : m[j]) * most / epsilon;
        const bool lost = (size <= (weight < 0 ? -weight : weight) * unit) & (size - size == 0);
        rest &= weight == 0 ? m[j] == 0 : lost;
    }
    return rest;
}

template <class V> PS_HD void decay_cells(V* __restrict m, V by, i64 n, i64 times) {
    constexpr int block = 32;
    for (i64 j = 0; j < n; j += block) {
        const i64 count = n - j < block ? n - j : block;
        V held[block] = {};
        for (i64 k = 0; k < count; ++k) held[k] = m[j + k];
        for (i64 t = 0; t < times; ++t) {
            V before[block];
            bool changed = false;
            for (int k = 0; k < block; ++k) before[k] = held[k];
            for (int k = 0; k < block; ++k) held[k] = by * held[k] + (V)0;
            if ((t & 63) == 0) {
                for (int k = 0; k < block; ++k) changed |= !(held[k] == before[k]);
                if (!changed) break;
            }
        }
        for (i64 k = 0; k < count; ++k) m[j + k] = held[k];
    }
}

template <class Rule> struct is_adam { enum { value = 0 }; };
template <class V> struct is_adam<adam<V>> { enum { value = 1 }; };

template <class Rule, class T, int Cells, int Rows, int Varying, int Constants>
void Table<Rule, T, Cells, Rows, Varying, Constants>::catch_up(i64 row, i64 target) const {
    if constexpr (is_adam<Rule>::value) {
        if (s.last[row] >= target) return;
        i64 step = s.last[row] < s.first ? s.first : s.last[row] + 1;
        V* m = cell(0, row);
        for (int count = 0; step <= target; ++step, ++count) {
            V old[ps::kMostScalars];
            scalars_of(s, step, Varying, Constants, old);
            const Rule rule(old);
            if (s.most > 0 && count % kGlance == 0 && at_rest(data(row), m, s.width, (V)s.most, rule.epsilon)) {
                decay_cells(m, rule.beta1, s.width, target - step + 1);
                decay_cells(cell(1, row), rule.beta2, s.width, target - step + 1);
                return;
            }
            move(row, still, old);
        }
    }
}

// Where the segments of the keys [begin, end) start, at most kSegments of them, and where the last one ends. Without branches:
// how long a segment is cannot be foreseen.
PS_HD i64 segments_of(const Keys& keys, i64 begin, i64 end, i64* start) {
    i64 n = 0, before = -1;
    for (i64 i = begin; i < end && n <= kSegments; ++i) {
        const i64 id = keys.id(i);
        start[n] = i;
        n += id != before;
        before = id;
    }
    if (n > kSegments) return kSegments;
    start[n] = end;
    return n;
}

template <class Rule, class T, int Cells, int Rows, int Varying, int Constants>
void sorted(const Step& s, const Keys& keys, i64 begin, i64 end, const Presummed* ready, i64 ready_n, char* scratch) {
    using V = Wide<T>;
    const Table<Rule, T, Cells, Rows, Varying, Constants> table(s, scratch);
    const T* updates = (const T*)s.updates;
    const i64 w = s.width, bytes = w * (i64)sizeof(T);
    const Presummed *next = ready, *stop = ready + ready_n;
    while (next < stop && next->begin < begin) ++next;
    const auto sum_of = [&](i64 i, i64 j) -> const V* {
        if (i + kFar < keys.n) fetch<0>((const char*)(updates + keys.pos(i + kFar) * w), bytes);
        const T* first = updates + keys.pos(i) * w;
        if (j - i > 1)
            sum_row(table.sum, updates, w, w, keys, i, j);
        else if (same<T, V>::value && !Rule::by_row)
            return (const V*)(const void*)first;
        else
            widen_row(table.sum, first, w);
        return table.sum;
    };
    for (i64 at = begin; at < end;) {
        i64 start[kSegments + 2];
        const i64 n = segments_of(keys, at, end, start);
        for (i64 k = 0; k < kRowsAhead && k < n; ++k) table.fetch_row(keys.id(start[k]));
        for (i64 k = 0; k < n; ++k) {
            if (k + kRowsAhead < n) table.fetch_row(keys.id(start[k + kRowsAhead]));
            const i64 row = keys.id(start[k]);
            const V* g = nullptr;
            if (next < stop && next->begin == start[k])
                g = (const V*)next++->sum;
            else if (updates)
                g = sum_of(start[k], start[k + 1]);
            if (row != s.padding) table.update(row, g);
        }
        at = start[n];
    }
}

template <class Rule, class T, int Cells, int Rows, int Varying, int Constants>
void dense(const Step& s, i64 first, i64 last, char* scratch) {
    using V = Wide<T>;
    const Table<Rule, T, Cells, Rows, Varying, Constants> table(s, scratch);
    const T* updates = (const T*)s.updates;
    if constexpr (!Rule::by_row) {
        if (updates && !s.last && !(s.max_norm > 0) && !(first <= s.padding && s.padding < last)) {
            const Rule rule(table.h);
            const i64 from = first * s.width, to = last * s.width;
            V *a = (V*)s.state[0], *b = (V*)s.state[1], *c = (V*)s.state[2];
            for (i64 j = from; j < to; j += kBlockCells) {
                const i64 n = to - j < kBlockCells ? to - j : kBlockCells;
                const V* g = (const V*)(const void*)(updates + j);
                if (!same<T, V>::value) {
                    widen_row(table.sum, updates + j, n);
                    g = table.sum;
                }
                step_cells<Rule, Cells>(rule, (T*)s.data + j, g, Cells > 0 ? a + j : a, Cells > 1 ? b + j : b, Cells > 2 ? c + j : c, n);
            }
            return;
        }
    }
    for (i64 row = first; row < last; ++row) {
        if (row == s.padding) continue;
        if (updates) widen_row(table.sum, updates + row * s.width, s.width);
        table.update(row, updates ? table.sum : nullptr);
    }
}

// ---- the tables ----------------------------------------------------------------------------------------------

#define PS_UNPACK(...) __VA_ARGS__
template <class T, int Kind> constexpr ps::OptimType optim_type() {
    if constexpr (Kind == PS_REAL) {
        using V = Wide<T>;
        return {{
#define PS_OPTIM(name, rule, cells, rows, varying, constants) \
    {sorted<PS_UNPACK rule, T, cells, rows, varying, constants>, dense<PS_UNPACK rule, T, cells, rows, varying, constants>},
#include "../optim.def"
#undef PS_OPTIM
                }, stripe<T>, (int)sizeof(V)};
    } else {
        return {};
    }
}

template <class T, int Kind> constexpr ps::SliceType slice_type() {
    using View = typename op_add::template view<T>;
    if constexpr ((op_add::kinds & Kind) != 0)
        return {sums<typename View::canonical>, View::factor};
    else
        return {};
}

}  // namespace

extern const ps::OptimHot optim_table;
const ps::OptimHot optim_table = {
    PS_STRING(PS_ISA_NAME),
    {
#define PS_DTYPE(name, type, kind) optim_type<type, kind>(),
#include "../dtypes.def"
#undef PS_DTYPE
    },
    {
#define PS_DTYPE(name, type, kind) slice_type<type, kind>(),
#include "../dtypes.def"
#undef PS_DTYPE
    },
};

}  // namespace PS_NAMESPACE
