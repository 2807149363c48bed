// What kernels/cuda/instructions.cuh says in PTX, said for the host. NOT A GPU: see cuda_host.h.
#pragma once

namespace PS_NAMESPACE {

inline void add_to_four(float* at, float a, float b, float c, float d) {
    const float u[4] = {a, b, c, d};
    for (int k = 0; k < 4; ++k) atomicAdd(at + k, u[k]);
}

template <class H> void add_to_half(H* at, H u) {
    cuda_host_change(&at->bits, [=](u16 x) { return op_add::apply(H{x}, u).bits; });
}
template <class H> void add_to_halves(H* at, u32 pair) {
    add_to_half(at, H{(u16)pair});
    add_to_half(at + 1, H{(u16)(pair >> 16)});
}
template <class H> void add_to_halves(H* at, u32 a, u32 b, u32 c, u32 d) {
    const u32 u[4] = {a, b, c, d};
    for (int k = 0; k < 4; ++k) add_to_halves(at + 2 * k, u[k]);
}

}  // namespace PS_NAMESPACE
