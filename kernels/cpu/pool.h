// One process-wide pool of worker threads, lent to one call at a time.
#pragma once
#include <type_traits>

namespace ps {

constexpr int kMaxThreads = 256;

int get_num_threads();
void set_num_threads(int n);  // 1 .. kMaxThreads

// Up to `wanted` threads, the caller's own among them. A pool that is busy lends nothing: threads() is 1 then, so a
// caller never waits for another's call. Results do not depend on threads().
class Lease {
  public:
    explicit Lease(int wanted);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    int threads() const { return threads_; }

    // Runs part(0) .. part(count - 1), count <= threads(), and returns when all have ended. part must not throw.
    template <class Part> void run(int count, Part&& part) {
        run_erased(count, [](void* p, int i) { (*static_cast<std::remove_reference_t<Part>*>(p))(i); }, &part);
    }

  private:
    void run_erased(int count, void (*call)(void*, int), void* part);
    struct Pool* pool_ = nullptr;
    int threads_ = 1;
    friend struct Pool;
};

}  // namespace ps
