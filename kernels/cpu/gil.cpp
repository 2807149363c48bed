#include "gil.h"

#include <pthread.h>

#include <chrono>
#include <thread>

namespace ps {

std::atomic<int> g_without_gil{0};
std::atomic<bool> g_closing{false};

namespace {
[[maybe_unused]] const int g_registered = pthread_atfork(nullptr, nullptr, [] { g_without_gil = 0; });
}

void close() {
    g_closing = true;
    while (g_without_gil > 0) {
        nanobind::gil_scoped_release release;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

}  // namespace ps
