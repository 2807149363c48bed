// Kernels that read: rows and cells of any dtype of a size, zeros where an id has no place.
#pragma once
#include "common.cuh"

namespace PS_NAMESPACE {

// Rows are read in units as large as the addresses allow; a cell of 16 bytes may lie at any multiple of 8.
struct pair { u64 low, high; };
template <int Bytes> struct unit { using type = typename bits_type<Bytes>::type; using cell = type; };
template <> struct unit<16> { using type = pack<u64, 2>; using cell = pair; };

// out[i, :] = data[ids[i], :]; data (size, width) and out (n, width) in units of that many bytes.
template <int Bytes> PS_D void gather_rows(const void* data, i64 width, Ids ids, void* out) {
    using U = typename unit<Bytes>::type;
    for (i64 i = first_row(); i < ids.n; i += row_stride()) {
        const i64 row = ids.resolved(i);
        for (i64 c = first_column(); c < width; c += column_stride())
            ((U*)out)[i * width + c] = row < 0 ? U{} : ((const U*)data)[row * width + c];
    }
}

// out[q] = data at the walk's place for ids[q].
template <int Bytes> PS_D void gather_elements(const void* data, Walk walk, Ids ids, void* out) {
    using U = typename unit<Bytes>::cell;
    for (i64 q = first_item(); q < ids.n; q += item_stride()) {
        const i64 along = ids.resolved(q);
        ((U*)out)[q] = along < 0 ? U{} : ((const U*)data)[walk.base(q) + along * walk.axis_step()];
    }
}

}  // namespace PS_NAMESPACE

#define PS_GATHER(bytes)                                                                                          \
    PS_KERNEL gather_rows_##bytes(const void* data, ps::i64 width, PS_IDS_PARAMETERS, void* out) {                \
        ps::gather_rows<bytes>(data, width, PS_IDS, out);                                                         \
    }                                                                                                             \
    PS_ENTRY(gather_rows_##bytes)                                                                                 \
    PS_KERNEL gather_elements_##bytes(const void* data, PS_WALK_PARAMETERS, PS_IDS_PARAMETERS, void* out) {       \
        ps::gather_elements<bytes>(data, PS_WALK, PS_IDS, out);                                                   \
    }                                                                                                             \
    PS_ENTRY(gather_elements_##bytes)
