// The update rules of the optimizers, for host C++17 and for CUDA alike. V is the type they compute in: double for float64,
// float for everything narrower, whose state is float too. See combine.h for what the compiler owes.
//
// A rule is made from its scalars h (varying ones first, see optim.def; h[0] is the factor that decays the weights) and is
// one of two kinds:
//
//   by cell    x = rule.step(x, g, a, b, c)             a, b, c: the cell's state, changed in place; a rule uses as many as it has
//   by row     u = rule.direction(x, g, a, b) for each cell of the row
//              k = rule.factor(sum of x * x, sum of u * u, width, state of the row)    the first only if it `weighs`
//              x = rule.finish(x, u, k)
//
// Every operation is IEEE and stands alone, in the order written, so that host and device give the same bits.
#pragma once
#include "combine.h"

namespace PS_NAMESPACE {

#if defined(__CUDA_ARCH__)
PS_HD float root(float x) { return __fsqrt_rn(x); }
PS_HD double root(double x) { return __dsqrt_rn(x); }
#elif !defined(__CUDACC_RTC__)
PS_HD float root(float x) { return __builtin_sqrtf(x); }
PS_HD double root(double x) { return __builtin_sqrt(x); }
#endif

// A sum of squares in double: cell j goes to lane j % 8, in order, and the lanes are added as a fixed tree.
enum { square_lanes = 8 };
PS_HD double squares_of(const double* lane) {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

template <class V> struct sgd {
    static constexpr bool by_row = false;
    V decay, rate;
    PS_HD explicit sgd(const V* h) : decay(h[0]), rate(h[1]) {}
    PS_HD V step(V x, V g, V&, V&, V&) const { return x * decay - rate * g; }
};

template <class V, bool Nesterov> struct sgd_momentum {
    static constexpr bool by_row = false;
    V decay, rate, momentum;
    PS_HD explicit sgd_momentum(const V* h) : decay(h[0]), rate(h[1]), momentum(h[2]) {}
    PS_HD V step(V x, V g, V& m, V&, V&) const {
        m = momentum * m + g;
        return x * decay - rate * (Nesterov ? g + momentum * m : m);
    }
};

template <class V> struct adagrad {
    static constexpr bool by_row = false;
    V decay, rate, epsilon;
    PS_HD explicit adagrad(const V* h) : decay(h[0]), rate(h[1]), epsilon(h[2]) {}
    PS_HD V step(V x, V g, V& sum, V&, V&) const {
        sum = sum + g * g;
        return x * decay - rate * g / (root(sum) + epsilon);
    }
};

template <class V> struct rowwise_adagrad {
    static constexpr bool by_row = true, weighs = false;
    V decay, rate, epsilon;
    PS_HD explicit rowwise_adagrad(const V* h) : decay(h[0]), rate(h[1]), epsilon(h[2]) {}
    PS_HD V direction(V, V g, V&, V&) const { return g; }
    PS_HD V factor(double, double squares, i64 width, V& sum) const {
        sum = sum + (V)(squares / (double)width);
        return rate / (root(sum) + epsilon);
    }
    PS_HD V finish(V x, V g, V k) const { return x * decay - k * g; }
};

template <class V, bool Centered, bool Momentum> struct rmsprop {
    static constexpr bool by_row = false;
    V decay, rate, alpha, rest, epsilon, momentum;  // rest: 1 - alpha
    PS_HD explicit rmsprop(const V* h)
        : decay(h[0]), rate(h[1]), alpha(h[2]), rest(h[3]), epsilon(h[4]), momentum(Momentum ? h[5] : 0) {}
    PS_HD V step(V x, V g, V& square, V& b, V& c) const {
        square = alpha * square + rest * g * g;
        V variance = square;
        if (Centered) {
            V& mean = Momentum ? c : b;
            mean = alpha * mean + rest * g;
            variance = square - mean * mean;
            variance = variance < 0 ? 0 : variance;  // rounding may pass zero
        }
        const V scaled = g / (root(variance) + epsilon);
        if (!Momentum) return x * decay - rate * scaled;
        b = momentum * b + scaled;
        return x * decay - rate * b;
    }
};

template <class V> struct adam {
    static constexpr bool by_row = false;
    V decay, rate, correction, beta1, rest1, beta2, rest2, epsilon;  // rate: lr / (1 - beta1^t); correction: (1 - beta2^t)^-1/2
    PS_HD explicit adam(const V* h)
        : decay(h[0]), rate(h[1]), correction(h[2]), beta1(h[3]), rest1(h[4]), beta2(h[5]), rest2(h[6]), epsilon(h[7]) {}
    PS_HD V step(V x, V g, V& m, V& v, V&) const {
        m = beta1 * m + rest1 * g;
        v = beta2 * v + rest2 * g * g;
        return x * decay - rate * m / (root(v) * correction + epsilon);
    }
};

template <class V> struct ftrl {
    static constexpr bool by_row = false;
    V inverse, beta, l1, l2;  // inverse: 1 / lr
    PS_HD explicit ftrl(const V* h) : inverse(h[1]), beta(h[2]), l1(h[3]), l2(h[4]) {}
    PS_HD V step(V x, V g, V& n, V& z, V&) const {
        const V before = root(n);
        n = n + g * g;
        const V after = root(n);
        z = z + g - (after - before) * inverse * x;
        const V size = z < 0 ? -z : z, toward = (z < 0 ? -l1 : l1) - z;
        const V w = toward / ((beta + after) * inverse + l2);
        return size <= l1 ? 0 : w;
    }
};

template <class V> struct lamb {
    static constexpr bool by_row = true, weighs = true;
    V rate, correction1, correction2, beta1, rest1, beta2, rest2, epsilon, weight;
    PS_HD explicit lamb(const V* h)
        : rate(h[1]), correction1(h[2]), correction2(h[3]), beta1(h[4]), rest1(h[5]), beta2(h[6]), rest2(h[7]), epsilon(h[8]),
          weight(h[9]) {}
    PS_HD V direction(V x, V g, V& m, V& v) const {
        m = beta1 * m + rest1 * g;
        v = beta2 * v + rest2 * g * g;
        return correction1 * m / (root(v) * correction2 + epsilon) + weight * x;
    }
    PS_HD V factor(double weights, double squares, i64, V&) const {
        const double trust = weights > 0 && squares > 0 ? root(weights) / root(squares) : 1.0;
        return rate * (V)trust;
    }
    PS_HD V finish(V x, V u, V k) const { return x - k * u; }
};

}  // namespace PS_NAMESPACE
