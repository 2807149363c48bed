// A vector register's worth of numbers, as the functors of combine.h see it: their expressions find these operators through
// the argument. Explicit, because GCC keeps narrow rows scalar where it cannot prove that a row and an update lie apart.
#pragma once
#include "../combine.h"

namespace PS_NAMESPACE {

#if defined(__AVX512F__)
constexpr int kVector = 64;  // bytes
#elif defined(__AVX__)
constexpr int kVector = 32;
#else
constexpr int kVector = 16;
#endif

template <class T, int Bytes> struct pack {
    typedef T vector __attribute__((vector_size(Bytes)));
    typedef T stored __attribute__((vector_size(Bytes), aligned(sizeof(T) < 8 ? sizeof(T) : 8), may_alias));
    vector v;
    static PS_HD pack load(const T* from) { return {(vector)*(const stored*)from}; }
    PS_HD void store(T* to) const { *(stored*)to = (stored)v; }
};

#define PS_PACK template <class T, int B> PS_HD pack<T, B>
PS_PACK operator+(pack<T, B> x, pack<T, B> u) { return {x.v + u.v}; }
PS_PACK operator-(pack<T, B> x, pack<T, B> u) { return {x.v - u.v}; }
PS_PACK operator*(pack<T, B> x, pack<T, B> u) { return {x.v * u.v}; }
PS_PACK divide(pack<T, B> x, pack<T, B> u) { return {x.v / u.v}; }
PS_PACK minimum(pack<T, B> x, pack<T, B> u) { return {u.v < x.v ? u.v : x.v}; }
PS_PACK maximum(pack<T, B> x, pack<T, B> u) { return {x.v < u.v ? u.v : x.v}; }
#undef PS_PACK

// As for one float: see combine.h.
#define PS_FLOATS(F, U)                                                                                            \
    template <int B> PS_HD pack<F, B> minimum(pack<F, B> x, pack<F, B> u) {                                        \
        using Bits = typename pack<U, B>::vector;                                                                  \
        using Floats = typename pack<F, B>::vector;                                                                \
        return {x.v == u.v ? (Floats)((Bits)x.v | (Bits)u.v) : ((x.v < u.v) | (x.v != x.v)) ? x.v : u.v};          \
    }                                                                                                              \
    template <int B> PS_HD pack<F, B> maximum(pack<F, B> x, pack<F, B> u) {                                        \
        using Bits = typename pack<U, B>::vector;                                                                  \
        using Floats = typename pack<F, B>::vector;                                                                \
        return {x.v == u.v ? (Floats)((Bits)x.v & (Bits)u.v) : ((x.v > u.v) | (x.v != x.v)) ? x.v : u.v};          \
    }
PS_FLOATS(float, u32)
PS_FLOATS(double, u64)
#undef PS_FLOATS

template <class T> struct is_number { enum { value = 0, integer = 0 }; };
#define PS_NUMBER(T, whole) template <> struct is_number<T> { enum { value = 1, integer = whole }; };
PS_NUMBER(i8, 1) PS_NUMBER(i16, 1) PS_NUMBER(i32, 1) PS_NUMBER(i64, 1)
PS_NUMBER(u8, 1) PS_NUMBER(u16, 1) PS_NUMBER(u32, 1) PS_NUMBER(u64, 1)
PS_NUMBER(float, 0) PS_NUMBER(double, 0)
#undef PS_NUMBER

// Whole registers have no division of integers, and half types and complex products no operators here.
template <class Op, class T> constexpr bool packable() {
    return is_number<T>::value && !(is_number<T>::integer && Op::refuses_zero);
}

}  // namespace PS_NAMESPACE
