#include "check.h"

#include <algorithm>
#include <atomic>

namespace ps {
namespace {

std::atomic<i64> g_bytes_per_thread{2 << 20};
constexpr i64 kFirst = 6;  // times that: waking a thread that sleeps takes up to a tenth of a millisecond

// The lowest position any part finds; a part whose whole span lies behind one that is already known may skip it.
template <class Find> Fault first_fault(i64 n, i64 item_bytes, Lease& lease, Find&& find) {
    const int parts = std::min(lease.threads(), threads_worth(n * item_bytes));
    if (parts <= 1) return find(Span{0, n});
    Fault found[kMaxThreads];
    lease.run(parts, [&](int i) { found[i] = find(cut(n, parts, i)); });
    for (int i = 0; i < parts; ++i)
        if (found[i]) return found[i];
    return {};
}

}  // namespace

int threads_worth(i64 bytes) {
    const i64 each = g_bytes_per_thread.load(std::memory_order_relaxed);
    return bytes / each < kFirst ? 1 : (int)std::min<i64>(bytes / each, kMaxThreads);
}

void set_bytes_per_thread(i64 bytes) { g_bytes_per_thread.store(std::max<i64>(1, bytes), std::memory_order_relaxed); }

Span cut(i64 n, int parts, int i, i64 grain) {
    const i64 grains = (n + grain - 1) / grain, each = grains / parts, more = grains % parts;
    const i64 first = i * each + std::min<i64>(i, more), last = first + each + (i < more);
    return {std::min(n, first * grain), std::min(n, last * grain)};
}

Fault check_ids(Ids ids, Range range, Lease& lease) {
    const bool impossible = range.bounds == kClip && range.size == 0;
    if (range.bounds != kRaise && !impossible) return {};
    return first_fault(ids.n, ids.wide ? 8 : 4, lease, [&](Span span) -> Fault {
        i64 value = 0;
        const i64 n = span.last - span.first;
        const i64 at = hot().find_outside(ids.part(span.first, n), range.low(), range.size, &value);
        if (at == n) return {};
        return {Fault::kIndex, span.first + at, value};
    });
}

Fault check_divisors(const char* items, int size, i64 n, Lease& lease) {
    return first_fault(n, size, lease, [&](Span span) -> Fault {
        const i64 count = span.last - span.first;
        const i64 at = hot().find_zero(items + span.first * size, size, count);
        if (at == count) return {};
        return {Fault::kZero, span.first + at, 0};
    });
}

}  // namespace ps
