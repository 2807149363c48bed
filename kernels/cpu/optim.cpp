#include "optim.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "optim_plan.h"

namespace ps_baseline { extern const ps::OptimHot optim_table; }
#if defined(PS_HAVE_X86_LEVELS)
namespace ps_avx2 { extern const ps::OptimHot optim_table; }
namespace ps_avx512 { extern const ps::OptimHot optim_table; }
#endif

namespace ps {
namespace {

constexpr i64 kShare = 1024;      // keys that a thread takes at a time
constexpr i64 kLong = 4096;       // keys of one id that threads sum together, each a part of the columns
constexpr i64 kStripe = 64;       // bytes: threads write no common line
constexpr i64 kDenseBytes = 1 << 18;

// Memory for the threads of a call, at cache lines.
class Room {
  public:
    Room(i64 each, int parts) : each_((each + 63) / 64 * 64), raw_(new char[(size_t)(each_ * parts + 64)]) {
        start_ = raw_.get() + (64 - (reinterpret_cast<unsigned long>(raw_.get()) & 63)) % 64;
    }
    char* of(i64 part) const { return start_ + part * each_; }

  private:
    i64 each_;
    std::unique_ptr<char[]> raw_;
    char* start_;
};

// Runs work(part, k) for k = 0 .. count - 1; whoever is free takes the next.
template <class Work> void share(Lease& lease, int parts, i64 count, Work&& work) {
    std::atomic<i64> next{0};
    lease.run(parts, [&](int part) {
        for (i64 k = next++; k < count; k = next++) work(part, k);
    });
}

// The segments of at least 2 * kLong keys, and some shorter ones.
std::vector<Presummed> long_segments(const SortedIds& sorted) {
    std::vector<Presummed> found;
    const Keys& keys = sorted.keys();
    for (i64 i = 0; i + kLong < keys.n; i += kLong) {
        if (keys.id(i) != keys.id(i + kLong) || (!found.empty() && i < found.back().end)) continue;
        i64 begin = i;
        while (begin > 0 && keys.id(begin - 1) == keys.id(i)) --begin;
        found.push_back({begin, sorted.start_of(i + 1), nullptr});
    }
    return found;
}

void sum_long_segments(const OptimCall& call, const OptimType& type, const SortedIds& sorted, Lease& lease, int parts,
                       std::vector<Presummed>& segments, char* sums) {
    const i64 row = call.step.width * type.wide, stripe = std::max<i64>(kStripe / type.wide, 1);
    const i64 stripes = (call.step.width + stripe - 1) / stripe, each = (stripes + parts - 1) / parts;
    const i64 slots = (stripes + each - 1) / each;
    for (size_t k = 0; k < segments.size(); ++k) segments[k].sum = sums + (i64)k * row;
    share(lease, parts, slots * (i64)segments.size(), [&](int, i64 k) {
        const Presummed& segment = segments[(size_t)(k / slots)];
        const i64 from = k % slots * each * stripe, to = std::min(from + each * stripe, call.step.width);
        type.stripe(call.step.updates, call.step.width, sorted.keys(), segment.begin, segment.end, from, to,
                    const_cast<char*>(segment.sum));
    });
}

Fault step_by_ids(const OptimCall& call, const OptimType& type, Lease& lease, int parts) {
    SortedIds sorted;
    const Fault fault = sorted.sort(call.ids, call.step.rows, lease);
    if (fault || !call.ids.n) return fault;
    const Room scratch(scratch_bytes(call.step.width, type.wide), parts);
    std::vector<Presummed> segments;
    std::unique_ptr<char[]> sums;
    if (parts > 1 && call.step.updates && call.step.width * type.wide >= 2 * kStripe) segments = long_segments(sorted);
    if (!segments.empty()) {
        sums.reset(new char[segments.size() * (size_t)(call.step.width * type.wide)]);
        sum_long_segments(call, type, sorted, lease, parts, segments, sums.get());
    }
    const auto run = type.rule[call.rule].sorted;
    share(lease, parts, (call.ids.n + kShare - 1) / kShare, [&](int part, i64 k) {
        const i64 begin = sorted.start_of(k * kShare), end = sorted.start_of((k + 1) * kShare);
        if (begin < end) run(call.step, sorted.keys(), begin, end, segments.data(), (i64)segments.size(), scratch.of(part));
    });
    return {};
}

void step_all(const OptimCall& call, const OptimType& type, Lease& lease, int parts) {
    const Room scratch(scratch_bytes(call.step.width, type.wide), parts);
    const i64 rows = call.step.rows, each = std::max<i64>(1, kDenseBytes / std::max<i64>(1, call.step.width * type.wide));
    const auto run = type.rule[call.rule].dense;
    share(lease, parts, (rows + each - 1) / each, [&](int part, i64 k) {
        run(call.step, k * each, std::min(rows, (k + 1) * each), scratch.of(part));
    });
}

}  // namespace

const OptimHot& optim_hot() {
    static const OptimHot& chosen = [&]() -> const OptimHot& {
#if defined(PS_HAVE_X86_LEVELS)
        if (!std::strcmp(hot().name, ps_avx512::optim_table.name)) return ps_avx512::optim_table;
        if (!std::strcmp(hot().name, ps_avx2::optim_table.name)) return ps_avx2::optim_table;
#endif
        return ps_baseline::optim_table;
    }();
    return chosen;
}

const OptimInfo kOptimInfo[kOptims] = {
#define PS_OPTIM(name, rule, cells, rows, varying, constants) {#name, cells, rows, varying, constants},
#include "../optim.def"
#undef PS_OPTIM
};

i64 scratch_bytes(i64 width, int wide) { return 2 * std::max<i64>(width, 1024) * wide; }

i64 OptimCall::bytes() const {
    const i64 touched = has_ids ? ids.n : step.rows;
    return touched * step.width * kDtypeInfo[dtype].itemsize * (3 + 2 * kOptimInfo[rule].cells);
}

Fault step_rows(const OptimCall& call) {
    const OptimType& type = optim_hot().type[call.dtype];
    Lease lease(threads_worth(call.bytes()));
    if (call.has_ids) return step_by_ids(call, type, lease, lease.threads());
    step_all(call, type, lease, lease.threads());
    return {};
}

Coalesce::Coalesce(const SliceType& type, Ids ids, i64 size, i64 width, i64 item) : type_(type), width_(width), row_bytes_(width * item) {
    Lease lease(threads_worth(ids.n * (16 + row_bytes_)));
    fault = sorted_.sort(ids, size, lease);
    if (fault) return;
    const i64 shares = (ids.n + kShare - 1) / kShare;
    first_.assign((size_t)shares + 1, 0);
    const int parts = std::min(lease.threads(), threads_worth(ids.n * 16));
    share(lease, parts, shares, [&](int, i64 k) {
        first_[(size_t)k + 1] = sorted_.segments(k * kShare, std::min(ids.n, (k + 1) * kShare));
    });
    for (size_t k = 1; k < first_.size(); ++k) first_[k] += first_[k - 1];
}

void Coalesce::write(const char* values, bool wide, char* ids, char* out) const {
    const Keys& keys = sorted_.keys();
    Lease lease(threads_worth(keys.n * (16 + row_bytes_)));
    const Room scratch(scratch_bytes(width_, 4), lease.threads());
    share(lease, lease.threads(), (i64)first_.size() - 1, [&](int part, i64 k) {
        const i64 begin = sorted_.start_of(k * kShare), end = sorted_.start_of((k + 1) * kShare);
        i64 at = first_[(size_t)k];
        if (begin < end) type_.sums(values, width_ * type_.factor, keys, begin, end, out + at * row_bytes_, scratch.of(part));
        for (i64 i = begin; i < end; i = sorted_.start_of(i + 1), ++at) {
            if (wide) reinterpret_cast<i64*>(ids)[at] = keys.id(i);
            else reinterpret_cast<int*>(ids)[at] = (int)keys.id(i);
        }
    });
}

}  // namespace ps
