// The arithmetic of every operator on every dtype, for host C++17 and for CUDA (nvcc and NVRTC) alike.
//
//   op_add::apply(x, u)    storage type in, storage type out: one step of the defining loop, rounded to the dtype
//
// Same bits everywhere asks this of whoever compiles it: no multiply-add contraction (-ffp-contract=off,
// --fmad=false), no fast-math, no flush to zero. No header is included, so that NVRTC needs none.
#pragma once

// Machine code for different instruction sets may not share names: each such build sets its own namespace.
#ifndef PS_NAMESPACE
#define PS_NAMESPACE ps
#endif

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define PS_HD __host__ __device__ __forceinline__
#else
#define PS_HD inline __attribute__((always_inline))
#endif

#define PS_BOOLEAN 1
#define PS_INTEGER 2
#define PS_REAL 4
#define PS_COMPLEX 8
#define PS_ALL 15

namespace PS_NAMESPACE {

// ---- storage types -----------------------------------------------------------------------------------------

using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
static_assert(sizeof(i16) == 2 && sizeof(i32) == 4 && sizeof(i64) == 8, "a data model this library does not know");

struct boolean { u8 byte; };  // any nonzero byte is true; results are 0 or 1
struct float16 { u16 bits; };
struct bfloat16 { u16 bits; };
template <class F> struct complex { F re, im; };
using complex64 = complex<float>;
using complex128 = complex<double>;

// ---- bits of a float ---------------------------------------------------------------------------------------

#if defined(__CUDA_ARCH__)
PS_HD u32 bits_of(float f) { return __float_as_uint(f); }
PS_HD u64 bits_of(double f) { return (u64)__double_as_longlong(f); }
PS_HD float float_of(u32 b) { return __uint_as_float(b); }
PS_HD double float_of(u64 b) { return __longlong_as_double((i64)b); }
#elif !defined(__CUDACC_RTC__)
PS_HD u32 bits_of(float f) { u32 b; __builtin_memcpy(&b, &f, sizeof b); return b; }
PS_HD u64 bits_of(double f) { u64 b; __builtin_memcpy(&b, &f, sizeof b); return b; }
PS_HD float float_of(u32 b) { float f; __builtin_memcpy(&f, &b, sizeof f); return f; }
PS_HD double float_of(u64 b) { double f; __builtin_memcpy(&f, &b, sizeof f); return f; }
#endif

// ---- float16 and bfloat16: exact widening, round-to-nearest-even narrowing, NaN stays NaN --------------------
// Written with selects only, so that loops over them become vector code.

PS_HD float widen(float16 h) {
    const u32 magnitude = h.bits & 0x7fffu;
    const u32 shifted = magnitude << 13;
    const u32 normal = shifted + (112u << 23);  // exponent bias 127 - 15
    const u32 special = normal + (112u << 23);  // exponent 31 becomes 255
    // A subnormal m * 2^-24 is the fraction of 2^-14 * (1 + m/1024): no float subnormal takes part.
    const u32 subnormal = bits_of(float_of(shifted + (113u << 23)) - float_of(113u << 23));
    const u32 finite = magnitude < 0x400u ? subnormal : normal;
    return float_of((magnitude >= 0x7c00u ? special : finite) | (u32)(h.bits & 0x8000u) << 16);
}

PS_HD float16 narrow_to_float16(float f) {
    const u32 bits = bits_of(f);
    const u32 magnitude = bits & 0x7fffffffu;
    const u32 normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    // 0.5 has the unit 2^-24 of float16's subnormals: the addition rounds to it.
    const u32 subnormal = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
    const u32 finite = magnitude < (113u << 23) ? subnormal : normal;
    const u32 large = magnitude > 0x7f800000u ? (0x7e00u | (magnitude >> 13 & 0x3ffu)) : 0x7c00u;
    return float16{(u16)((magnitude >= (143u << 23) ? large : finite) | (bits >> 16 & 0x8000u))};
}

PS_HD float widen(bfloat16 h) { return float_of((u32)h.bits << 16); }

PS_HD bfloat16 narrow_to_bfloat16(float f) {
    const u32 bits = bits_of(f);
    const u32 rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    const u32 nan = bits >> 16 | 0x40u;
    return bfloat16{(u16)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded)};
}

// ---- arithmetic that is not a built-in operator ---------------------------------------------------------------

struct truth { bool is; };
PS_HD truth operator+(truth x, truth u) { return truth{(bool)(x.is | u.is)}; }
PS_HD truth operator*(truth x, truth u) { return truth{(bool)(x.is & u.is)}; }
PS_HD truth minimum(truth x, truth u) { return x * u; }
PS_HD truth maximum(truth x, truth u) { return x + u; }

template <class F> PS_HD complex<F> operator+(complex<F> x, complex<F> u) { return {x.re + u.re, x.im + u.im}; }
template <class F> PS_HD complex<F> operator-(complex<F> x, complex<F> u) { return {x.re - u.re, x.im - u.im}; }
template <class F> PS_HD complex<F> operator*(complex<F> x, complex<F> u) {
    return {x.re * u.re - x.im * u.im, x.re * u.im + x.im * u.re};
}

// Smith's division in NumPy's order of operations (R. L. Smith, Algorithm 116, CACM 5, 1962).
template <class F> PS_HD complex<F> divide(complex<F> x, complex<F> u) {
    const F re = u.re < 0 ? -u.re : u.re, im = u.im < 0 ? -u.im : u.im;
    if (re >= im) {
        if (re == 0 && im == 0) {
            const F zero = 0;  // |u.re|: a divisor of -0 must not turn the sign of the infinity
            return {x.re / zero, x.im / zero};
        }
        const F ratio = u.im / u.re, scale = 1 / (u.re + u.im * ratio);
        return {(x.re + x.im * ratio) * scale, (x.im - x.re * ratio) * scale};
    }
    const F ratio = u.re / u.im, scale = 1 / (u.im + u.re * ratio);
    return {(x.re * ratio + x.im) * scale, (x.im * ratio - x.re) * scale};
}

PS_HD float divide(float x, float u) { return x / u; }
PS_HD double divide(double x, double u) { return x / u; }

// A zero divisor is refused before the first write; should another thread put one in after that, x stays.
template <class T> PS_HD T divide(T x, T u) {
    if (u == 0) return x;
    if ((T)-1 < 0 && u == (T)-1) return (T)(0 - (u64)x);  // INT_MIN / -1 wraps to INT_MIN
    return (T)(x / u);
}

// Where x == u the two differ at most in the sign of zero: or keeps a minus, and keeps a plus. A NaN in u
// falls through to u, because no comparison with it holds.
PS_HD float minimum(float x, float u) {
    const float equal = float_of(bits_of(x) | bits_of(u)), other = ((x < u) | (x != x)) ? x : u;
    return x == u ? equal : other;
}
PS_HD double minimum(double x, double u) {
    const double equal = float_of(bits_of(x) | bits_of(u)), other = ((x < u) | (x != x)) ? x : u;
    return x == u ? equal : other;
}
PS_HD float maximum(float x, float u) {
    const float equal = float_of(bits_of(x) & bits_of(u)), other = ((x > u) | (x != x)) ? x : u;
    return x == u ? equal : other;
}
PS_HD double maximum(double x, double u) {
    const double equal = float_of(bits_of(x) & bits_of(u)), other = ((x > u) | (x != x)) ? x : u;
    return x == u ? equal : other;
}
template <class T> PS_HD T minimum(T x, T u) { return u < x ? u : x; }
template <class T> PS_HD T maximum(T x, T u) { return x < u ? u : x; }

// ---- views: what an operator sees of a value -------------------------------------------------------------------
// Each has `type` with load and store, and `canonical` with `factor`: running the operator on `factor` times as
// many canonical values gives the same bits, so that types may share machine code.

template <class T> struct unsigned_of { using type = T; };
template <> struct unsigned_of<i8> { using type = u8; };
template <> struct unsigned_of<i16> { using type = u16; };
template <> struct unsigned_of<i32> { using type = u32; };
template <> struct unsigned_of<i64> { using type = u64; };

template <class T> struct component { using type = T; enum { count = 1 }; };
template <class F> struct component<complex<F>> { using type = F; enum { count = 2 }; };

template <int Size> struct bits_type;
template <> struct bits_type<1> { using type = u8; };
template <> struct bits_type<2> { using type = u16; };
template <> struct bits_type<4> { using type = u32; };
template <> struct bits_type<8> { using type = u64; };

template <class T> struct moves {
    using type = T;
    using canonical = typename bits_type<sizeof(typename component<T>::type)>::type;
    enum { factor = component<T>::count };
    static PS_HD T load(T x) { return x; }
    static PS_HD T store(T v) { return v; }
};

template <class T> struct typed {
    using type = T;
    using canonical = T;
    enum { factor = 1 };
    static PS_HD T load(T x) { return x; }
    static PS_HD T store(T v) { return v; }
};
template <> struct typed<boolean> {
    using type = truth;
    using canonical = boolean;
    enum { factor = 1 };
    static PS_HD truth load(boolean x) { return truth{x.byte != 0}; }
    static PS_HD boolean store(truth v) { return boolean{(u8)v.is}; }
};
template <> struct typed<float16> {
    using type = float;
    using canonical = float16;
    enum { factor = 1 };
    static PS_HD float load(float16 x) { return widen(x); }
    static PS_HD float16 store(float v) { return narrow_to_float16(v); }
};
template <> struct typed<bfloat16> {
    using type = float;
    using canonical = bfloat16;
    enum { factor = 1 };
    static PS_HD float load(bfloat16 x) { return widen(x); }
    static PS_HD bfloat16 store(float v) { return narrow_to_bfloat16(v); }
};

// At least 32 bits wide: uint16 * uint16 would be promoted to int, and overflow.
template <class T, class Wide> struct modular {
    using type = Wide;
    using canonical = typename unsigned_of<T>::type;
    enum { factor = 1 };
    static PS_HD Wide load(T x) { return (Wide)(canonical)x; }
    static PS_HD T store(Wide v) { return (T)v; }
};
template <class T> struct wraps : typed<T> {};
template <> struct wraps<i8> : modular<i8, u32> {};
template <> struct wraps<i16> : modular<i16, u32> {};
template <> struct wraps<i32> : modular<i32, u32> {};
template <> struct wraps<i64> : modular<i64, u64> {};
template <> struct wraps<u8> : modular<u8, u32> {};
template <> struct wraps<u16> : modular<u16, u32> {};
template <> struct wraps<u32> : modular<u32, u32> {};
template <> struct wraps<u64> : modular<u64, u64> {};

template <class T> struct linear : wraps<T> {};
template <class F> struct linear<complex<F>> : typed<complex<F>> {
    using canonical = F;
    enum { factor = 2 };
};

// ---- the functors -----------------------------------------------------------------------------------------------

enum divisor { any, nonzero };

#define PS_OP(name, kinds_, view_, divisor_, expression)                        \
    struct op_##name {                                                          \
        template <class T> using view = view_<T>;                               \
        static constexpr int kinds = kinds_;                                    \
        static constexpr bool refuses_zero = divisor_ == nonzero;               \
        static constexpr bool copies = is_move<view_>::value;                   \
        template <class V> static PS_HD V on(V x, V u) {                        \
            (void)x;                                                            \
            return expression;                                                  \
        }                                                                       \
        template <class T> static PS_HD T apply(T x, T u) {                     \
            return view<T>::store(on(view<T>::load(x), view<T>::load(u)));      \
        }                                                                       \
    };
template <template <class> class View> struct is_move { enum { value = 0 }; };
template <> struct is_move<moves> { enum { value = 1 }; };
#include "ops.def"
#undef PS_OP

}  // namespace PS_NAMESPACE
