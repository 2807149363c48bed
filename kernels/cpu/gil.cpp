#include "gil.h"

#include <pthread.h>

#include <chrono>
#include <thread>

namespace ps {

std::atomic<int> g_without_gil{0};
std::atomic<bool> g_closing{false};
[[maybe_unused]] static const int g_registered = pthread_atfork(nullptr, nullptr, [] { g_without_gil = 0; });

void wait_for_calls() {
    g_closing = true;
    while (g_without_gil > 0) {
        nanobind::gil_scoped_release release;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

}  // namespace ps
