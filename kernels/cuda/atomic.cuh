// Kernels that take duplicates in any order: every update goes to its target at once, atomically.
#pragma once
#include "atomics.cuh"

namespace PS_NAMESPACE {

template <int L, class Op, class C>
PS_D void atomic_rows_by(C* data, i64 width, Ids ids, const C* updates) {
    for (i64 i = first_row(); i < ids.n; i += row_stride()) {
        const i64 row = ids.resolved(i);
        if (row < 0) continue;
        for (i64 c = first_column() * L; c < width; c += column_stride() * L)
            atomically<Op, C>::apply(data + row * width + c, load<L>(updates + i * width + c));
    }
}

// data (size, width), ids (n,), updates (n, width); aligned: rows of both are whole multiples of 16 bytes, at such addresses.
template <class Op, class T>
PS_D void atomic_rows(T* data, i64 width, Ids ids, const T* updates, int aligned) {
    using C = typename computed<Op, T>::type;
    enum { lanes = atomically<Op, C>::lanes };
    width *= computed<Op, T>::factor;
    if (lanes > 1 && aligned)
        atomic_rows_by<lanes, Op>((C*)data, width, ids, (const C*)updates);
    else
        atomic_rows_by<1, Op>((C*)data, width, ids, (const C*)updates);
}

// data of any shape, ids and updates (n,), each position where the walk says.
template <class Op, class T>
PS_D void atomic_elements(T* data, Walk walk, Ids ids, const T* updates) {
    using C = typename computed<Op, T>::type;
    enum { factor = computed<Op, T>::factor };
    for (i64 q = first_item(); q < ids.n; q += item_stride()) {
        const i64 along = ids.resolved(q);
        if (along < 0) continue;
        C* cell = (C*)(data + walk.base(q) + along * walk.axis_step());
        const C* u = (const C*)(updates + q);
#pragma unroll
        for (int f = 0; f < factor; ++f) atomically<Op, C>::apply(cell + f, load<1>(u + f));
    }
}

}  // namespace PS_NAMESPACE

#define PS_ATOMIC(op, dtype)                                                                                              \
    static_assert(ps::op_##op::kinds & ps::kind_of_##dtype, #op " is not defined for " #dtype);                           \
    PS_KERNEL atomic_rows_##op##_##dtype(ps::dtype_##dtype* data, ps::i64 width, PS_IDS_PARAMETERS,                       \
                                         const ps::dtype_##dtype* updates, int aligned) {                                 \
        ps::atomic_rows<ps::op_##op>(data, width, PS_IDS, updates, aligned);                                              \
    }                                                                                                                     \
    PS_ENTRY(atomic_rows_##op##_##dtype)                                                                                  \
    PS_KERNEL atomic_elements_##op##_##dtype(ps::dtype_##dtype* data, PS_WALK_PARAMETERS, PS_IDS_PARAMETERS,              \
                                             const ps::dtype_##dtype* updates) {                                          \
        ps::atomic_elements<ps::op_##op>(data, PS_WALK, PS_IDS, updates);                                                 \
    }                                                                                                                     \
    PS_ENTRY(atomic_elements_##op##_##dtype)
