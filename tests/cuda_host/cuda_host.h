// NOT A GPU. What the sources under kernels/cuda need of CUDA, for g++: the tests run them on this machine's processor.
//
// A launch runs its threads in a shuffled order on several threads of the host. That shows what depends on an order, and
// what races; it shows nothing about a GPU: not its speed, its memory model or its compiler. Included ahead of a module.
#pragma once
#define PS_INSTRUCTIONS "instructions.h"
#ifndef PS_ARCH
#define PS_ARCH 900
#endif
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)

#include <atomic>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cuda_host {

struct Size { unsigned x, y, z; };
inline thread_local Size thread_index, block_index, block_size, grid_size;

// ---- kernels by name -----------------------------------------------------------------------------------------------

using Call = void (*)(void* kernel, void* const* args);
struct Entry {
    void* kernel;
    Call call;
    std::vector<int> sizes;  // of the parameters
};
inline std::map<std::string, Entry>& entries() {
    static std::map<std::string, Entry> all;
    return all;
}

template <class... P, std::size_t... I>
void call_with(void (*kernel)(P...), void* const* args, std::index_sequence<I...>) {
    kernel(*static_cast<P*>(args[I])...);
}
struct Listed {
    template <class... P> Listed(const char* name, void (*kernel)(P...)) {
        const Call call = [](void* k, void* const* args) {
            call_with(reinterpret_cast<void (*)(P...)>(k), args, std::index_sequence_for<P...>());
        };
        entries()[name] = Entry{reinterpret_cast<void*>(kernel), call, {(int)sizeof(P)...}};
    }
};
#define PS_ENTRY(name) static const cuda_host::Listed listed_##name(#name, &name);

// ---- launches ----------------------------------------------------------------------------------------------------------

// Thread number i of a launch comes as number (i * factor + offset) % n.
inline void run_part(const Entry& entry, Size grid, Size block, void* const* args, std::uint64_t seed,
                     std::atomic<std::uint64_t>& next) {
    constexpr std::uint64_t kChunk = 16;  // threads taken at a time
    const std::uint64_t per_block = (std::uint64_t)block.x * block.y * block.z;
    const std::uint64_t n = per_block * grid.x * grid.y * grid.z, offset = seed % n;
    std::uint64_t factor = seed / 7 % n | 1;
    while (std::gcd(factor, n) != 1) factor += 2;
    block_size = block;
    grid_size = grid;
    for (std::uint64_t first; (first = next.fetch_add(kChunk)) < n;) {
        for (std::uint64_t i = first; i < first + kChunk && i < n; ++i) {
            const std::uint64_t at = (std::uint64_t)(((unsigned __int128)i * factor + offset) % n);
            const std::uint64_t b = at / per_block, t = at % per_block;
            block_index = {(unsigned)(b % grid.x), (unsigned)(b / grid.x % grid.y), (unsigned)(b / grid.x / grid.y)};
            thread_index = {(unsigned)(t % block.x), (unsigned)(t / block.x % block.y), (unsigned)(t / block.x / block.y)};
            entry.call(entry.kernel, args);
        }
    }
}

}  // namespace cuda_host

#define threadIdx (cuda_host::thread_index)
#define blockIdx (cuda_host::block_index)
#define blockDim (cuda_host::block_size)
#define gridDim (cuda_host::grid_size)

extern "C" {

// 0; or -1: no such kernel, -2: another number of arguments, -3 - k: argument k has another size.
__attribute__((visibility("default"))) int cuda_host_launch(const char* name, const unsigned* grid, const unsigned* block,
                                                  void* const* args, const int* sizes, int count, int threads,
                                                  std::uint64_t seed) {
    const auto found = cuda_host::entries().find(name);
    if (found == cuda_host::entries().end()) return -1;
    const cuda_host::Entry& entry = found->second;
    if ((int)entry.sizes.size() != count) return -2;
    for (int k = 0; k < count; ++k)
        if (entry.sizes[k] != sizes[k]) return -3 - k;
    std::atomic<std::uint64_t> next{0};
    std::atomic<int> present{0};
    const auto part = [&] {
        for (++present; present < threads;) std::this_thread::yield();  // so that they meet
        cuda_host::run_part(entry, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, args, seed, next);
    };
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(part);
    part();
    for (std::thread& other : others) other.join();
    return 0;
}

// The names of all kernels, with a line end after each.
__attribute__((visibility("default"))) const char* cuda_host_entries() {
    static const std::string names = [] {
        std::string all;
        for (const auto& entry : cuda_host::entries()) all += entry.first + "\n";
        return all;
    }();
    return names.c_str();
}
}

// ---- atomics and what else the kernels call ------------------------------------------------------------------------------

struct uint4 { unsigned x, y, z, w; };
struct ulonglong2 { unsigned long long x, y; };

template <class T> T __ldcg(const T* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
template <class T> void __stcg(T* at, T v) { __atomic_store_n(at, v, __ATOMIC_RELAXED); }
inline void __stcg(uint4* at, uint4 v) {
    unsigned* to = &at->x;
    const unsigned from[4] = {v.x, v.y, v.z, v.w};
    for (int k = 0; k < 4; ++k) __stcg(to + k, from[k]);
}
inline void __stcg(ulonglong2* at, ulonglong2 v) {
    __stcg(&at->x, v.x);
    __stcg(&at->y, v.y);
}

// Now and then others go first: a loop that takes a failed swap for a good one loses updates.
template <class T> T atomicCAS(T* at, T expected, T next) {
    static thread_local unsigned calls = 0;
    if (++calls % 4 == 0) std::this_thread::yield();
    __atomic_compare_exchange_n(at, &expected, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

template <class T, class Change> T cuda_host_change(T* at, Change change) {
    T seen, next;
    __atomic_load(at, &seen, __ATOMIC_RELAXED);
    do next = change(seen);
    while (!__atomic_compare_exchange(at, &seen, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return seen;
}
template <class T> T atomicAdd(T* at, T u) { return cuda_host_change(at, [=](T x) { return (T)(x + u); }); }
template <class T> T atomicMin(T* at, T u) { return cuda_host_change(at, [=](T x) { return u < x ? u : x; }); }
template <class T> T atomicMax(T* at, T u) { return cuda_host_change(at, [=](T x) { return x < u ? u : x; }); }
