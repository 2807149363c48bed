// What all CUDA kernels share: the threads' places in the work, ids and the bounds rule, packs of cells.
//
// No kernel has a barrier or shared memory: each thread's work stands alone, in loops that cover any size with any grid.
// All offsets are 64 bits wide. A module is a list of PS_* entries (paramstore/backends/cuda/modules.py) behind an include.
#pragma once
#include "../combine.h"

#ifndef PS_ARCH  // 100 * major + 10 * minor of the GPU compiled for
#ifdef __CUDA_ARCH__
#define PS_ARCH __CUDA_ARCH__
#else
#define PS_ARCH 0
#endif
#endif

#define PS_D __device__ __forceinline__
#define PS_THREADS 256  // the most in a block; paramstore/backends/cuda/geometry.py knows it too
#define PS_KERNEL extern "C" __global__ void __launch_bounds__(PS_THREADS)
#ifndef PS_ENTRY  // what lists the kernels may make of a name
#define PS_ENTRY(name)
#endif

namespace PS_NAMESPACE {

#define PS_DTYPE(name, type, kind)   \
    using dtype_##name = type;       \
    enum { kind_of_##name = kind };
#include "../dtypes.def"
#undef PS_DTYPE

// ---- the threads: rows along the grid's x and the block's y, columns along the grid's y and the block's x -----------

PS_D i64 first_row() { return (i64)blockIdx.x * blockDim.y + threadIdx.y; }
PS_D i64 row_stride() { return (i64)gridDim.x * blockDim.y; }
PS_D i64 first_column() { return (i64)blockIdx.y * blockDim.x + threadIdx.x; }
PS_D i64 column_stride() { return (i64)gridDim.y * blockDim.x; }
PS_D i64 first_item() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
PS_D i64 item_stride() { return (i64)gridDim.x * blockDim.x; }

// ---- ids ---------------------------------------------------------------------------------------------------------------

// Others may write what is read here: the compiler must not look twice.
template <class I> PS_D I read_once(const I* at) { return *(const volatile I*)at; }

enum { bounds_raise, bounds_drop, bounds_clip };

struct Ids {
    const void* data;  // (n,) int32, or int64 where wide
    i64 n, size;       // valid ids are [0, size), or [-size, size) where wrap
    int wide, bounds, wrap;

    PS_D i64 at(i64 i) const { return wide ? read_once((const i64*)data + i) : read_once((const i32*)data + i); }

    // The place of id i in [0, size), or -1 where it has none. Under bounds_raise a check has gone before.
    PS_D i64 resolved(i64 i) const {
        i64 id = at(i);
        if (wrap && id < 0) id += size;
        if (id >= 0 && id < size) return id;
        if (bounds != bounds_clip) return -1;
        return id < 0 && size > 0 ? 0 : size - 1;
    }
};
#define PS_IDS_PARAMETERS const void *ids, ps::i64 n, ps::i64 size, int wide, int bounds, int wrap
#define PS_IDS (ps::Ids{ids, n, size, wide, bounds, wrap})

// ---- positions of an elements call ---------------------------------------------------------------------------------

// Where the positions of `indices` lie in data: C order, dimensions of extent 1 dropped, neighbours joined where one step
// covers both. Position q lies at  sum of q[d] * step[d] + id * axis_step.
struct Walk {
    const i64* table;  // axis_step, then extent and step of each dimension
    int ndim;

    PS_D i64 axis_step() const { return table[0]; }

    // The cell of position q with coordinate 0 along the axis.
    PS_D i64 base(i64 q) const {
        i64 cell = 0;
        for (int d = ndim - 1; d > 0; --d) {
            const i64 extent = table[1 + 2 * d];
            // A division of 32 bits costs a fraction of one of 64.
            const i64 rest = ((u64)q | (u64)extent) >> 32 ? q / extent : (i64)((u32)q / (u32)extent);
            cell += (q - rest * extent) * table[2 + 2 * d];
            q = rest;
        }
        return cell + q * table[2];
    }
};
#define PS_WALK_PARAMETERS const ps::i64 *walk, int ndim
#define PS_WALK (ps::Walk{walk, ndim})

// ---- packs ---------------------------------------------------------------------------------------------------------------

template <class T, int L> struct alignas(L == 1 ? alignof(T) : L * sizeof(T)) pack { T lane[L]; };

template <int L, class T> PS_D pack<T, L> load(const T* at) { return *(const pack<T, L>*)at; }
template <int L, class T> PS_D void store(T* at, pack<T, L> v) { *(pack<T, L>*)at = v; }

// The same bits as another type of the same size.
template <class To, class From> PS_D To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "a change of type, not of size");
    union {
        From from;
        To to;
    } both;
    both.from = from;
    return both.to;
}

// What an op computes on, with as many of them in a cell of type T.
template <class Op, class T> struct computed {
    using type = typename Op::template view<T>::canonical;
    enum { factor = Op::template view<T>::factor };
};

}  // namespace PS_NAMESPACE
