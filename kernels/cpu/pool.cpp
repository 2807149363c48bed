#include "pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ps {
namespace {

// A thread that has just worked is likely to be needed again soon: it looks for work this long before it sleeps.
constexpr std::chrono::microseconds kSpin{20};

void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

template <class Ready> bool spin_until(Ready&& ready) {
    const auto stop = std::chrono::steady_clock::now() + kSpin;
    do {
        for (int i = 0; i < 16; ++i) {
            if (ready()) return true;
            pause();
        }
    } while (std::chrono::steady_clock::now() < stop);
    return ready();
}

// A flag that one thread raises and another waits for.
class Signal {
  public:
    void raise() {
        {
            std::lock_guard<std::mutex> hold(mutex_);
            up_.store(true, std::memory_order_release);
        }
        changed_.notify_one();
    }
    void wait_and_lower() {
        const auto is_up = [this] { return up_.load(std::memory_order_acquire); };
        if (!spin_until(is_up)) {
            std::unique_lock<std::mutex> hold(mutex_);
            changed_.wait(hold, is_up);
        }
        up_.store(false, std::memory_order_relaxed);
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<bool> up_{false};
};

// A worker is offered a part, and takes it or finds that the caller has taken it back. So a caller never waits for a worker that
// has not woken up yet: waking may take longer than the part.
struct Worker {
    Signal start, done;
    std::atomic<bool> offered{false};
    void (*call)(void*, int) = nullptr;  // these three belong to whoever took the offer, and to the caller afterwards
    void* part = nullptr;
    int index = 0;

    bool take() { return offered.exchange(false, std::memory_order_acq_rel); }
    void loop() {
        for (;;) {
            start.wait_and_lower();  // before take(): an offer that comes later raises it again
            if (!take()) continue;
            call(part, index);
            done.raise();
        }
    }
};

std::atomic<int> g_threads{1};  // the package sets it when it is imported

}  // namespace

// Never destroyed: its threads sleep until the process ends, and a daemon thread may still be using it then.
struct Pool {
    std::atomic<bool> lent{false};
    std::vector<std::unique_ptr<Worker>> workers;  // touched only by whoever holds the pool

    // As many workers as the system will give, up to n.
    int grow(int n) {
        if ((int)workers.size() >= n) return n;
        // Signals are for the threads that Python knows.
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            while ((int)workers.size() < n) {
                auto worker = std::make_unique<Worker>();
                std::thread(&Worker::loop, worker.get()).detach();
                workers.push_back(std::move(worker));
            }
        } catch (const std::exception&) {  // no thread or no memory left
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return std::min(n, (int)workers.size());
    }
};

namespace {

std::atomic<Pool*> g_pool{nullptr};

// The child of a fork has none of the threads, and cannot know what state they left behind: it starts afresh.
[[maybe_unused]] const int g_registered = pthread_atfork(nullptr, nullptr, [] { g_pool.store(nullptr); });

Pool& pool() {
    Pool* known = g_pool.load();
    if (known) return *known;
    auto fresh = std::make_unique<Pool>();
    fresh->workers.reserve(kMaxThreads);
    if (g_pool.compare_exchange_strong(known, fresh.get())) return *fresh.release();
    return *known;
}

}  // namespace

int get_num_threads() { return g_threads.load(std::memory_order_relaxed); }

void set_num_threads(int n) { g_threads.store(n, std::memory_order_relaxed); }

Lease::Lease(int wanted) {
    wanted = std::min(wanted, get_num_threads());
    if (wanted <= 1) return;
    Pool& shared = pool();
    if (shared.lent.exchange(true, std::memory_order_acquire)) return;
    pool_ = &shared;
    threads_ = 1 + shared.grow(wanted - 1);
}

Lease::~Lease() {
    if (pool_) pool_->lent.store(false, std::memory_order_release);
}

void Lease::run_erased(int count, void (*call)(void*, int), void* part) {
    for (int i = 1; i < count; ++i) {
        Worker& worker = *pool_->workers[i - 1];
        worker.call = call;
        worker.part = part;
        worker.index = i;
        worker.offered.store(true, std::memory_order_release);
        worker.start.raise();
    }
    call(part, 0);
    for (int i = count - 1; i > 0; --i) {  // the last one was woken last
        Worker& worker = *pool_->workers[i - 1];
        if (worker.take())
            call(part, i);
        else
            worker.done.wait_and_lower();
    }
}

}  // namespace ps
