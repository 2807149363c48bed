// Yardsticks: what somebody writes in thirty lines of C++. One thread is right; several race on rows that they share, lose
// updates, and show how fast it could be if nothing had to be right. Compiled when the bench runs; never part of the product.
#include <cstdint>
#include <thread>
#include <vector>

template <int FIXED, class T, class I>
static void rows(T* x, const I* ids, const T* u, int64_t n, int64_t width) {
    constexpr int64_t ahead = 16;  // rows
    const int64_t w = FIXED ? FIXED : width;
    for (int64_t k = 0; k < n; ++k) {
        if (w >= 4 && k + ahead < n) {
            const char* next = (const char*)(x + (int64_t)ids[k + ahead] * w);
            for (int64_t b = 0; b < w * (int64_t)sizeof(T) && b < 512; b += 64) __builtin_prefetch(next + b, 1);
        }
        T* row = x + (int64_t)ids[k] * w;
        const T* from = u + k * w;
        for (int64_t j = 0; j < w; ++j) row[j] += from[j];
    }
}

template <class T, class I>
static void part(T* x, const I* ids, const T* u, int64_t n, int64_t w) {
    switch (w) {
        case 1: return rows<1>(x, ids, u, n, w);
        case 16: return rows<16>(x, ids, u, n, w);
        case 64: return rows<64>(x, ids, u, n, w);
        default: return rows<0>(x, ids, u, n, w);
    }
}

template <class T, class I>
static void racing(T* x, const I* ids, const T* u, int64_t n, int64_t w, int threads) {
    std::vector<std::thread> others;
    auto range = [=](int t) { const int64_t a = n * t / threads, b = n * (t + 1) / threads; part(x, ids + a, u + a * w, b - a, w); };
    for (int t = 1; t < threads; ++t) others.emplace_back(range, t);
    range(0);
    for (auto& other : others) other.join();
}

#define EXPORT(T, I) \
    extern "C" void add_##T##_##I(T* x, const I* ids, const T* u, int64_t n, int64_t w, int threads) { racing(x, ids, u, n, w, threads); }
EXPORT(float, int32_t)
EXPORT(float, int64_t)
EXPORT(double, int32_t)
EXPORT(double, int64_t)
EXPORT(int32_t, int32_t)
EXPORT(int32_t, int64_t)
EXPORT(int64_t, int32_t)
EXPORT(int64_t, int64_t)
