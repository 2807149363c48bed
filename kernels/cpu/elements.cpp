#include <algorithm>

#include "block.h"
#include "check.h"
#include "scatter.h"

namespace ps {
namespace {

// The coordinates of a position, moving forward in C order.
class Cursor {
  public:
    Cursor(const Walk& walk, i64 position) : walk_(walk), base_(0) {
        for (int d = walk.ndim - 1; d >= 0; --d) {
            at_[d] = position % walk.extent[d];
            position /= walk.extent[d];
            if (d < walk.ndim - 1) base_ += at_[d] * walk.step[d];
        }
    }

    // Turns the resolved ids of the next n positions into targets; -1 stays -1.
    void place(i64* ids, i64 n) {
        const int last = walk_.ndim - 1;
        const i64 step = walk_.step[last], axis_step = walk_.axis_step;
        while (n > 0) {
            const i64 run = std::min(n, walk_.extent[last] - at_[last]);
            const i64 base = base_ + at_[last] * step;
            for (i64 i = 0; i < run; ++i) ids[i] = ids[i] < 0 ? -1 : base + i * step + ids[i] * axis_step;
            ids += run;
            n -= run;
            at_[last] += run;
            if (at_[last] == walk_.extent[last]) carry(last);
        }
    }

    // The positions up to the end of the line, at most `most`; where they begin, and one step further.
    i64 line(i64 most, i64* base) {
        const int last = walk_.ndim - 1;
        const i64 run = std::min(most, walk_.extent[last] - at_[last]);
        *base = base_ + at_[last] * walk_.step[last];
        at_[last] += run;
        if (at_[last] == walk_.extent[last]) carry(last);
        return run;
    }

  private:
    void carry(int d) {
        at_[d] = 0;
        while (--d >= 0) {
            base_ += walk_.step[d];
            if (++at_[d] < walk_.extent[d]) return;
            base_ -= walk_.extent[d] * walk_.step[d];
            at_[d] = 0;
        }
    }

    const Walk& walk_;
    i64 at_[kMaxDims];
    i64 base_;  // of all coordinates but the last
};

constexpr i64 kLine = 16;  // positions; shorter lines go through a block

struct Plan {
    enum Kind { kSerial, kOuter, kInner, kOwner } kind;
    int parts;
};

// Every plan gives the same bits: two threads never share a target, and each takes its targets' updates in C order.
//   outer   threads take different coordinates before the axis
//   inner   threads take different coordinates of the last dimension, which is not the axis
//   owner   each thread scans all positions and takes the targets that it owns
Plan plan_elements(const ElementsCall& call, int threads) {
    const Walk& walk = call.walk;
    constexpr i64 kRun = 128;  // positions; shorter runs spend their time on being set up
    if (threads <= 1) return {Plan::kSerial, 1};
    const i64 outer = walk.total / walk.per_outer;
    if (outer >= 4 * threads || outer == threads) return {Plan::kOuter, threads};
    if (!walk.axis_last && walk.extent[walk.ndim - 1] >= kRun * threads) return {Plan::kInner, threads};
    if (scan_pays(call.cell.factor * call.cell.item, threads)) return {Plan::kOwner, threads};
    return {Plan::kSerial, 1};
}

// Positions [first, last).
void apply_positions(const ElementsCall& call, i64 first, i64 last) {
    const i64 factor = call.cell.factor, bytes = factor * call.cell.item;
    Cursor cursor(call.walk, first);
    const int dim = call.walk.ndim - 1;
    if (call.walk.extent[dim] >= kLine) {
        for (i64 at = first, base; at < last;) {
            const i64 n = cursor.line(last - at, &base);
            call.cell.line(call.data + base * bytes, factor, call.walk.step[dim], call.walk.axis_step, call.ids.part(at, n),
                           call.range.checked(), call.updates + at * bytes);
            at += n;
        }
        return;
    }
    Block block;
    i64 targets[kBlock];
    for (i64 start = first; start < last; start += kBlock) {
        const i64 n = std::min(kBlock, last - start);
        const i64 missing = hot().resolve(call.ids.part(start, n), call.range, targets);
        cursor.place(targets, n);
        const char* u = call.updates + start * bytes;
        if (!missing) {
            call.cell.apply(call.data, factor, factor, targets, nullptr, n, u);
            continue;
        }
        block.n = 0;
        block.append(targets, n, 0, [](i64 target) { return target >= 0; });
        call.cell.apply(call.data, factor, factor, block.target, block.pos, block.n, u);
    }
}

void apply_owned(const ElementsCall& call, Owner owner) {
    constexpr i64 kScan = kBlock / 4;  // room that must be left before a scan
    const i64 factor = call.cell.factor;
    Cursor cursor(call.walk, 0);
    Block block;
    i64 targets[kScan];
    const auto flush = [&] {
        call.cell.apply(call.data, factor, factor, block.target, block.pos, block.n, call.updates);
        block.n = 0;
    };
    for (i64 start = 0; start < call.ids.n; start += kScan) {
        const i64 n = std::min(kScan, call.ids.n - start);
        hot().resolve(call.ids.part(start, n), call.range, targets);
        cursor.place(targets, n);
        block.append_owned(targets, n, start, owner);
        if (block.n > kBlock - kScan) flush();
    }
    flush();
}

}  // namespace

Walk make_walk(int ndim, int axis, const i64* data_shape, const i64* index_shape) {
    Walk walk;
    i64 step[kMaxDims] = {};
    i64 items = 1;
    walk.total = walk.per_outer = 1;
    for (int d = ndim - 1; d >= 0; --d) {
        step[d] = items;
        items *= data_shape[d];
        walk.total *= index_shape[d];
        if (d >= axis) walk.per_outer *= index_shape[d];
    }
    walk.axis_step = step[axis];
    for (int d = 0; d < ndim; ++d) {
        if (index_shape[d] == 1) continue;
        const int last = walk.ndim - 1;
        if (d != axis && last >= 0 && !walk.axis_last && walk.step[last] == index_shape[d] * step[d]) {
            walk.extent[last] *= index_shape[d];
            walk.step[last] = step[d];
        } else {
            walk.extent[walk.ndim] = index_shape[d];
            walk.step[walk.ndim++] = d == axis ? 0 : step[d];
        }
        walk.axis_last = d == axis;
    }
    if (walk.ndim == 0) {
        walk.extent[0] = 1;
        walk.step[walk.ndim++] = 0;
        walk.axis_last = true;
    }
    return walk;
}

Fault scatter_elements(const ElementsCall& call) {
    Lease lease(threads_worth(call.bytes()));
    if (Fault fault = check_ids(call.ids, call.range, lease)) return fault;
    if (call.check_zero)
        if (Fault fault = check_divisors(call.updates, call.cell.item, call.ids.n, lease)) return fault;
    if (call.ids.n == 0) return {};

    const Walk& walk = call.walk;
    const Plan plan = plan_elements(call, lease.threads());
    switch (plan.kind) {
        case Plan::kSerial: apply_positions(call, 0, walk.total); break;
        case Plan::kOuter:
            lease.run(plan.parts, [&](int i) {
                const Span positions = cut(walk.total, plan.parts, i, walk.per_outer);
                apply_positions(call, positions.first, positions.last);
            });
            break;
        case Plan::kInner:
            lease.run(plan.parts, [&](int i) {
                const i64 length = walk.extent[walk.ndim - 1];
                const Span columns = cut(length, plan.parts, i, 64);
                for (i64 start = 0; start < walk.total; start += length)
                    apply_positions(call, start + columns.first, start + columns.last);
            });
            break;
        case Plan::kOwner: {
            const int shift = group_shift(call.cell.factor * call.cell.item);
            lease.run(plan.parts, [&](int i) { apply_owned(call, {shift, plan.parts, i}); });
            break;
        }
    }
    return {};
}

Fault gather_elements(const GatherElementsCall& call) {
    Lease lease(threads_worth(call.bytes()));
    if (Fault fault = check_ids(call.ids, call.range, lease)) return fault;
    if (call.ids.n == 0) return {};

    const int threads = lease.threads();
    lease.run(threads, [&](int part) {
        const Span positions = cut(call.ids.n, threads, part);
        Cursor cursor(call.walk, positions.first);
        i64 targets[kBlock];
        for (i64 start = positions.first; start < positions.last; start += kBlock) {
            const i64 n = std::min(kBlock, positions.last - start);
            hot().resolve(call.ids.part(start, n), call.range, targets);
            cursor.place(targets, n);
            hot().gather(call.data, call.itemsize, call.itemsize, targets, n, call.out + start * call.itemsize,
                         call.itemsize);
        }
    });
    return {};
}

}  // namespace ps
