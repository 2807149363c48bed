// Kernels that keep the order: one thread folds all updates of a cell in C order, from the table's value.
#pragma once
#include "common.cuh"

namespace PS_NAMESPACE {

// The end of the run of equal keys that begins at j.
PS_D i64 run_end(const i64* sorted, i64 j, i64 n) {
    const i64 key = sorted[j];
    i64 low = j, step = 1;  // sorted[low] == key
    while (low + step < n && sorted[low + step] == key) {
        low += step;
        step *= 2;
    }
    i64 high = low + step < n ? low + step : n;  // the end, or behind it
    while (high - low > 1) {
        const i64 middle = low + (high - low) / 2;
        (sorted[middle] == key ? low : high) = middle;
    }
    return high;
}

template <class Op, class C, int L> PS_D void step(pack<C, L>& x, pack<C, L> u) {
#pragma unroll
    for (int l = 0; l < L; ++l) x.lane[l] = Op::apply(x.lane[l], u.lane[l]);
}

// Packs loaded ahead of the steps that wait for one another: no more than the registers hold.
template <int Lanes, int Bytes> struct ahead { enum { packs = Lanes > 4 ? 32 / Lanes : Lanes > 1 || Bytes > 8 || Bytes < 4 ? 8 : 16 }; };

template <int L, class Op, class C>
PS_D void fold_rows_by(C* data, i64 width, const i64* sorted, const i64* order, i64 n, const C* updates) {
    enum { batch = ahead<L, sizeof(C)>::packs };
    for (i64 j = first_row(); j < n; j += row_stride()) {
        const i64 row = sorted[j];
        if (row < 0 || (j > 0 && sorted[j - 1] == row)) continue;
        const i64 end = run_end(sorted, j, n);
        for (i64 c = first_column() * L; c < width; c += column_stride() * L) {
            if constexpr (Op::copies) {
                store<L>(data + row * width + c, load<L>(updates + order[end - 1] * width + c));
                continue;
            }
            pack<C, L> x = load<L>(data + row * width + c), u[batch];
            i64 k = j;
            for (; k + batch <= end; k += batch) {
#pragma unroll
                for (int b = 0; b < batch; ++b) u[b] = load<L>(updates + order[k + b] * width + c);
#pragma unroll
                for (int b = 0; b < batch; ++b) step<Op>(x, u[b]);
            }
            for (; k < end; ++k) step<Op>(x, load<L>(updates + order[k] * width + c));
            store<L>(data + row * width + c, x);
        }
    }
}

// data (size, width); sorted (n,): rows in rising order, those below 0 left out; order (n,): their places in updates
// (n, width), rising where rows are equal; aligned: as for atomic_rows.
template <class Op, class T>
PS_D void fold_rows(T* data, i64 width, const i64* sorted, const i64* order, i64 n, const T* updates, int aligned) {
    using C = typename computed<Op, T>::type;
    enum { lanes = 16 / sizeof(C) };
    width *= computed<Op, T>::factor;
    if (lanes > 1 && aligned)
        fold_rows_by<lanes, Op>((C*)data, width, sorted, order, n, (const C*)updates);
    else
        fold_rows_by<1, Op>((C*)data, width, sorted, order, n, (const C*)updates);
}

// Positions that differ in another coordinate than the axis never meet: one thread takes all `along` positions of a lane,
// which lie `inner` apart.
template <class Op, class T>
PS_D void fold_elements(T* data, Walk walk, Ids ids, i64 along, i64 inner, const T* updates) {
    enum { batch = 4 };
    for (i64 lane = first_item(); lane < ids.n / along; lane += item_stride()) {
        i64 q = lane / inner * along * inner + lane % inner;
        T* const base = data + walk.base(q);
        const i64 axis_step = walk.axis_step();
        i64 m = 0;
        const auto take = [&](i64 id, T u) {
            if (id >= 0) base[id * axis_step] = Op::apply(base[id * axis_step], u);
        };
        for (; m + batch <= along; m += batch, q += batch * inner) {
            i64 id[batch];
            T u[batch];
#pragma unroll
            for (int b = 0; b < batch; ++b) {
                id[b] = ids.resolved(q + b * inner);
                u[b] = updates[q + b * inner];
            }
#pragma unroll
            for (int b = 0; b < batch; ++b) take(id[b], u[b]);
        }
        for (; m < along; ++m, q += inner) take(ids.resolved(q), updates[q]);
    }
}

}  // namespace PS_NAMESPACE

#define PS_FOLD(op, dtype)                                                                                                \
    static_assert(ps::op_##op::kinds & ps::kind_of_##dtype, #op " is not defined for " #dtype);                           \
    PS_KERNEL fold_rows_##op##_##dtype(ps::dtype_##dtype* data, ps::i64 width, const ps::i64* sorted,                     \
                                       const ps::i64* order, ps::i64 n, const ps::dtype_##dtype* updates, int aligned) {  \
        ps::fold_rows<ps::op_##op>(data, width, sorted, order, n, updates, aligned);                                      \
    }                                                                                                                     \
    PS_ENTRY(fold_rows_##op##_##dtype)                                                                                    \
    PS_KERNEL fold_elements_##op##_##dtype(ps::dtype_##dtype* data, PS_WALK_PARAMETERS, PS_IDS_PARAMETERS,                \
                                           ps::i64 along, ps::i64 inner, const ps::dtype_##dtype* updates) {              \
        ps::fold_elements<ps::op_##op>(data, PS_WALK, PS_IDS, along, inner, updates);                                     \
    }                                                                                                                     \
    PS_ENTRY(fold_elements_##op##_##dtype)
