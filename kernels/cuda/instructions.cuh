// Instructions that CUDA C++ has no name for without further headers: additions to global memory by vectors and halves.
#pragma once
#include "common.cuh"

#ifdef PS_INSTRUCTIONS  // the tests' stand-in for a GPU has its own
#include PS_INSTRUCTIONS
#else

namespace PS_NAMESPACE {

PS_D u64 global(void* at) { return (u64)__cvta_generic_to_global(at); }

PS_D void add_to_four(float* at, float a, float b, float c, float d) {
#if PS_ARCH >= 900
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(global(at)), "f"(a), "f"(b), "f"(c), "f"(d) : "memory");
#endif
}

#define PS_HALF_ADDITIONS(H, name)                                                                                          \
    PS_D void add_to_half(H* at, H u) {                                                                                     \
        asm volatile("red.global.add.noftz." name " [%0], %1;" ::"l"(global(at)), "h"(u.bits) : "memory");                   \
    }                                                                                                                       \
    PS_D void add_to_halves(H* at, u32 pair) {                                                                              \
        asm volatile("red.global.add.noftz." name "x2 [%0], %1;" ::"l"(global(at)), "r"(pair) : "memory");                   \
    }
PS_HALF_ADDITIONS(float16, "f16")
#if PS_ARCH >= 900
PS_HALF_ADDITIONS(bfloat16, "bf16")
#endif
#undef PS_HALF_ADDITIONS

#define PS_EIGHT_HALVES(H, name)                                                                                            \
    PS_D void add_to_halves(H* at, u32 a, u32 b, u32 c, u32 d) {                                                            \
        asm volatile("red.global.add.noftz.v4." name "x2 [%0], {%1, %2, %3, %4};" ::"l"(global(at)), "r"(a), "r"(b), "r"(c), \
                     "r"(d)                                                                                                 \
                     : "memory");                                                                                           \
    }
#if PS_ARCH >= 900
PS_EIGHT_HALVES(float16, "f16")
PS_EIGHT_HALVES(bfloat16, "bf16")
#else
PS_D void add_to_halves(float16*, u32, u32, u32, u32) {}  // never called: see lanes
#endif
#undef PS_EIGHT_HALVES

}  // namespace PS_NAMESPACE

#endif
