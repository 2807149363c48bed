// Kernels over ids and divisors: the checks before the first write, keys to sort by, index tuples to row numbers.
#pragma once
#include "common.cuh"

namespace PS_NAMESPACE {

// The lowest position that any thread found, as the greatest complement: 0 stands for none.
PS_D void report(u64* found, i64 position) { atomicMax(found, ~(u64)position); }

// A thread's positions rise, so its first find is its lowest.
PS_D void check_ids(const void* ids, i64 n, i64 low, i64 high, int wide, u64* found) {
    const Ids all{ids, n, 0, wide, 0, 0};
    for (i64 i = first_item(); i < n; i += item_stride()) {
        const i64 id = all.at(i);
        if (id >= low && id < high) continue;
        report(found, i);
        return;
    }
}

template <class T> PS_D void check_zeros(const T* items, i64 n, u64* found) {
    for (i64 i = first_item(); i < n; i += item_stride()) {
        if (items[i] != 0) continue;
        report(found, i);
        return;
    }
}

template <class K> PS_D void keys_of_rows(Ids ids, K* keys) {
    for (i64 i = first_item(); i < ids.n; i += item_stride()) keys[i] = (K)ids.resolved(i);
}

template <class K> PS_D void keys_of_elements(Walk walk, Ids ids, K* keys) {
    for (i64 q = first_item(); q < ids.n; q += item_stride()) {
        const i64 along = ids.resolved(q);
        keys[q] = (K)(along < 0 ? -1 : walk.base(q) + along * walk.axis_step());
    }
}

template <class K> PS_D void take_keys(const K* keys, const i64* order, i64 n, i64* sorted) {
    for (i64 j = first_item(); j < n; j += item_stride()) sorted[j] = keys[order[j]];
}

// out[t] = row-major offset of tuple t (n, k) in dims (k,), or -1 where it is dropped.
PS_D void flatten(const void* indices, i64 n, const i64* dims, int k, int wide, int bounds, int wrap, i64* out, u64* found) {
    for (i64 t = first_item(); t < n; t += item_stride()) {
        i64 offset = 0;
        bool inside = true;
        for (int d = 0; d < k; ++d) {
            const i64 at = Ids{indices, n, dims[d], wide, bounds, wrap}.resolved(t * k + d);
            if (at < 0 && inside && bounds != bounds_drop) report(found, t * k + d);
            inside = inside && at >= 0;
            offset = offset * dims[d] + (at < 0 ? 0 : at);
        }
        out[t] = inside ? offset : -1;
    }
}

}  // namespace PS_NAMESPACE

#define PS_CHECKS                                                                                                      \
    PS_KERNEL check_ids(const void* ids, ps::i64 n, ps::i64 low, ps::i64 high, int wide, ps::u64* found) {             \
        ps::check_ids(ids, n, low, high, wide, found);                                                                 \
    }                                                                                                                  \
    PS_ENTRY(check_ids)                                                                                                \
    PS_KERNEL flatten(const void* indices, ps::i64 n, const ps::i64* dims, int k, int wide, int bounds, int wrap,      \
                      ps::i64* out, ps::u64* found) {                                                                  \
        ps::flatten(indices, n, dims, k, wide, bounds, wrap, out, found);                                              \
    }                                                                                                                  \
    PS_ENTRY(flatten)

#define PS_ZEROS(dtype)                                                                                                \
    PS_KERNEL check_zeros_##dtype(const ps::dtype_##dtype* items, ps::i64 n, ps::u64* found) {                         \
        ps::check_zeros(items, n, found);                                                                              \
    }                                                                                                                  \
    PS_ENTRY(check_zeros_##dtype)

#define PS_KEYS(dtype)                                                                                                 \
    PS_KERNEL keys_of_rows_##dtype(PS_IDS_PARAMETERS, ps::dtype_##dtype* keys) { ps::keys_of_rows(PS_IDS, keys); }     \
    PS_ENTRY(keys_of_rows_##dtype)                                                                                     \
    PS_KERNEL keys_of_elements_##dtype(PS_WALK_PARAMETERS, PS_IDS_PARAMETERS, ps::dtype_##dtype* keys) {               \
        ps::keys_of_elements(PS_WALK, PS_IDS, keys);                                                                   \
    }                                                                                                                  \
    PS_ENTRY(keys_of_elements_##dtype)                                                                                 \
    PS_KERNEL take_keys_##dtype(const ps::dtype_##dtype* keys, const ps::i64* order, ps::i64 n, ps::i64* sorted) {     \
        ps::take_keys(keys, order, n, sorted);                                                                         \
    }                                                                                                                  \
    PS_ENTRY(take_keys_##dtype)
