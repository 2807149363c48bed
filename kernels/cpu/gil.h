// Work without the GIL, that never meets the end of the interpreter.
#pragma once
#include <nanobind/nanobind.h>

#include <atomic>

#include "types.h"

namespace ps {

constexpr i64 kKeepGil = 1 << 14;  // bytes of traffic; letting the GIL go and getting it back costs more than this

// A daemon thread that asks for the GIL while the interpreter ends is killed by pthread_exit, which cannot unwind through
// C++ destructors and catch blocks. So no call may be without the GIL then: the end waits for those that are (atexit),
// and later ones keep it.
extern std::atomic<int> g_without_gil;
extern std::atomic<bool> g_closing;
void wait_for_calls();

template <class Run> auto without_gil(i64 bytes, Run&& run) -> decltype(run()) {
    if (bytes < kKeepGil) return run();
    struct Counted {
        Counted() { ++g_without_gil; }
        ~Counted() { --g_without_gil; }
    } counted;
    if (g_closing) return run();
    nanobind::gil_scoped_release release;
    return run();
}

}  // namespace ps
