// One step x = op(x, u) on memory that other threads update too: a hardware instruction where there is one that means the
// same, else compare-and-swap on the bits, so that a NaN is equal to itself and no loop hangs.
//
//   atomically<Op, T>::lanes            cells that one call can take, if they are aligned as a whole
//   atomically<Op, T>::apply(at, u)     u: pack<T, 1> or pack<T, lanes>; each cell is atomic, not the pack
#pragma once
#include "common.cuh"
#include "instructions.cuh"

namespace PS_NAMESPACE {

// ---- instructions ------------------------------------------------------------------------------------------------------

template <class Op, class T> struct hardware { enum { lanes = 0 }; };

#define PS_HARDWARE(op, T, call)                                            \
    template <> struct hardware<op_##op, T> {                               \
        enum { lanes = 1 };                                                 \
        static PS_D void apply(T* at, pack<T, 1> v) {                       \
            const T u = v.lane[0];                                          \
            call;                                                           \
        }                                                                   \
    };
PS_HARDWARE(add, u32, atomicAdd(at, u))
PS_HARDWARE(add, u64, atomicAdd(at, u))
PS_HARDWARE(add, double, atomicAdd(at, u))
PS_HARDWARE(sub, u32, atomicAdd(at, 0 - u))
PS_HARDWARE(sub, u64, atomicAdd(at, 0 - u))
PS_HARDWARE(sub, double, atomicAdd(at, -u))
PS_HARDWARE(min, i32, atomicMin(at, u))
PS_HARDWARE(min, u32, atomicMin(at, u))
PS_HARDWARE(min, i64, atomicMin(at, u))
PS_HARDWARE(min, u64, atomicMin(at, u))
PS_HARDWARE(max, i32, atomicMax(at, u))
PS_HARDWARE(max, u32, atomicMax(at, u))
PS_HARDWARE(max, i64, atomicMax(at, u))
PS_HARDWARE(max, u64, atomicMax(at, u))
#undef PS_HARDWARE

// x - u is x + -u, bit for bit. float flushes subnormals here, as the hardware has it: these serve no ordered call.
template <class T, bool Minus> struct hardware_sum;

template <bool Minus> struct hardware_sum<float, Minus> {
    enum { lanes = PS_ARCH >= 900 ? 4 : 1 };
    static PS_D float signed_(float u) { return Minus ? -u : u; }
    static PS_D void apply(float* at, pack<float, 1> u) { atomicAdd(at, signed_(u.lane[0])); }
    static PS_D void apply(float* at, pack<float, 4> u) {
        add_to_four(at, signed_(u.lane[0]), signed_(u.lane[1]), signed_(u.lane[2]), signed_(u.lane[3]));
    }
};

template <class H, int Lanes, bool Minus> struct hardware_sum_of_halves {
    enum { lanes = Lanes };
    static PS_D void apply(H* at, pack<H, 1> u) { add_to_half(at, H{(u16)(u.lane[0].bits ^ (Minus ? 0x8000u : 0))}); }
    static PS_D void apply(H* at, pack<H, 2> u) { add_to_halves(at, bits_as<u32>(u) ^ (Minus ? 0x80008000u : 0)); }
    static PS_D void apply(H* at, pack<H, 8> u) {
        const pack<u32, 4> pairs = bits_as<pack<u32, 4>>(u);
        const u32 sign = Minus ? 0x80008000u : 0;
        add_to_halves(at, pairs.lane[0] ^ sign, pairs.lane[1] ^ sign, pairs.lane[2] ^ sign, pairs.lane[3] ^ sign);
    }
};
template <bool Minus> struct hardware_sum<float16, Minus> : hardware_sum_of_halves<float16, PS_ARCH >= 900 ? 8 : 2, Minus> {};
#if PS_ARCH >= 900
template <bool Minus> struct hardware_sum<bfloat16, Minus> : hardware_sum_of_halves<bfloat16, 8, Minus> {};
template <> struct hardware<op_add, bfloat16> : hardware_sum<bfloat16, false> {};
template <> struct hardware<op_sub, bfloat16> : hardware_sum<bfloat16, true> {};
#endif
template <> struct hardware<op_add, float> : hardware_sum<float, false> {};
template <> struct hardware<op_sub, float> : hardware_sum<float, true> {};
template <> struct hardware<op_add, float16> : hardware_sum<float16, false> {};
template <> struct hardware<op_sub, float16> : hardware_sum<float16, true> {};

// A store of up to 8 bytes does not tear, nor do the parts of a vector of such.
#define PS_STORE(T, L, V)                                                                          \
    template <> struct hardware<op_update, T> {                                                    \
        enum { lanes = L };                                                                        \
        static PS_D void apply(T* at, pack<T, 1> u) { __stcg(at, u.lane[0]); }                     \
        static PS_D void apply(T* at, pack<T, L> u) { __stcg((V*)at, bits_as<V>(u)); }             \
    };
PS_STORE(u8, 16, uint4)
PS_STORE(u16, 8, uint4)
PS_STORE(u32, 4, uint4)
PS_STORE(u64, 2, ulonglong2)
#undef PS_STORE

// ---- compare-and-swap --------------------------------------------------------------------------------------------------

// Calls change(word) until its answer has replaced the word that it was made from; nothing is written where it is the same.
template <class W, class Change> PS_D void swapped(W* word, Change change) {
    W seen = __ldcg(word);
    for (;;) {
        const W next = change(seen);
        if (next == seen) return;
        const W before = atomicCAS(word, seen, next);
        if (before == seen) return;
        seen = before;
    }
}

template <class Op, class T, bool Small = (sizeof(T) < 4)> struct by_swap {
    static_assert(sizeof(T) <= 8, "no compare-and-swap is that wide on every GPU");
    enum { lanes = 1 };
    static PS_D void apply(T* at, pack<T, 1> u) {
        using W = typename bits_type<sizeof(T)>::type;
        swapped((W*)at, [=](W word) { return bits_as<W>(Op::apply(bits_as<T>(word), u.lane[0])); });
    }
};

// Types of less than 32 bits, in the word around them.
template <class Op, class T> struct by_swap<Op, T, true> {
    enum { lanes = 4 / sizeof(T) };
    static PS_D void apply(T* at, pack<T, 1> u) {
        using B = typename bits_type<sizeof(T)>::type;
        const unsigned shift = ((u64)at & 3) * 8;
        const u32 mask = (u32)(B)-1 << shift;
        swapped((u32*)((u64)at & ~3ULL), [=](u32 word) {
            const T x = Op::apply(bits_as<T>((B)(word >> shift)), u.lane[0]);
            return (word & ~mask) | (u32)bits_as<B>(x) << shift;
        });
    }
    static PS_D void apply(T* at, pack<T, lanes> u) {
        swapped((u32*)at, [=](u32 word) {
            pack<T, lanes> x = bits_as<pack<T, lanes>>(word);
#pragma unroll
            for (int l = 0; l < lanes; ++l) x.lane[l] = Op::apply(x.lane[l], u.lane[l]);
            return bits_as<u32>(x);
        });
    }
};

template <class Op, class T, bool = (hardware<Op, T>::lanes > 0)> struct atomically : hardware<Op, T> {};
template <class Op, class T> struct atomically<Op, T, false> : by_swap<Op, T> {};

}  // namespace PS_NAMESPACE
