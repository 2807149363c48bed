#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "block.h"
#include "check.h"
#include "plan.h"

namespace ps {
namespace {

// All ids, columns [first, last).
void apply_stripe(const RowsCall& call, i64 first, i64 last) {
    const i64 offset = first * call.cell.item;
    call.cell.direct(call.data + offset, call.width, last - first, call.ids, call.range.checked(), call.updates + offset);
}

// A small table against many ids: a copy of it costs less than a look at every id beforehand. It takes at most a quarter of
// the ids' bytes.
bool copy_pays(const RowsCall& call) {
    const i64 bytes = call.width * call.cell.item;
    return call.range.bounds == kRaise && !call.check_zero && call.range.size <= call.ids.bytes() / 4 / bytes;
}

// On one thread: applies until an id is out of range, and then gives the rows their old values back: only those that were
// written, so that other threads' writes to other rows stay.
bool apply_or_undo(const RowsCall& call, Fault& fault) {
    const i64 bytes = call.width * call.cell.item;
    const std::unique_ptr<char[]> old(new (std::nothrow) char[call.range.size * bytes]);
    if (!old) return false;
    std::memcpy(old.get(), call.data, call.range.size * bytes);
    const i64 done = call.cell.direct(call.data, call.width, call.width, call.ids, call.range, call.updates);
    if (done == call.ids.n) return true;
    fault = {Fault::kIndex, done, call.ids[done]};
    i64 rows[kBlock];
    for (i64 start = 0; start < done; start += kBlock) {
        const i64 n = std::min(kBlock, done - start);
        hot().resolve(call.ids.part(start, n), call.range, rows);
        for (i64 i = 0; i < n; ++i)
            if (rows[i] >= 0) std::memcpy(call.data + rows[i] * bytes, old.get() + rows[i] * bytes, bytes);
    }
    return true;
}

// All columns, those ids whose row belongs to `owner`.
void apply_owned(const RowsCall& call, Owner owner) {
    constexpr i64 kScan = kBlock / 4;  // room that must be left before a scan
    Block block;
    i64 rows[kScan];
    const auto flush = [&] {
        call.cell.apply(call.data, call.width, call.width, block.target, block.pos, block.n, call.updates);
        block.n = 0;
    };
    for (i64 start = 0; start < call.ids.n; start += kScan) {
        const i64 n = std::min(kScan, call.ids.n - start);
        hot().resolve(call.ids.part(start, n), call.range, rows);
        block.append_owned(rows, n, start, owner);
        if (block.n > kBlock - kScan) flush();
    }
    flush();
}

}  // namespace

Fault scatter_rows(const RowsCall& call) {
    Lease lease(plan_is_forced() ? kMaxThreads : threads_worth(call.bytes()));
    const bool nothing = call.ids.n == 0 || call.width == 0;
    const Plan plan = nothing ? Plan{Plan::kSerial, 1} : plan_rows(call, lease.threads());
    if (!nothing && plan.kind == Plan::kSerial && copy_pays(call))
        if (Fault fault; apply_or_undo(call, fault)) return fault;

    if (!nothing && plan.kind == Plan::kBuckets)
        if (Fault fault; scatter_buckets(call, plan.parts, lease, fault)) return fault;

    if (Fault fault = check_ids(call.ids, call.range, lease)) return fault;
    if (call.check_zero)
        if (Fault fault = check_divisors(call.updates, call.cell.item, call.ids.n * call.width, lease)) return fault;
    if (nothing) return {};

    switch (plan.kind) {
        case Plan::kSerial: apply_stripe(call, 0, call.width); break;
        case Plan::kColumns: {
            const i64 grain = std::max<i64>(1, 64 / call.cell.item);
            lease.run(plan.parts, [&](int i) {
                const Span columns = cut(call.width, plan.parts, i, grain);
                apply_stripe(call, columns.first, columns.last);
            });
            break;
        }
        case Plan::kOwner: {
            const int shift = group_shift(call.width * call.cell.item);
            lease.run(plan.parts, [&](int i) { apply_owned(call, {shift, plan.parts, i}); });
            break;
        }
        case Plan::kBuckets: apply_stripe(call, 0, call.width); break;  // no memory for them
    }
    return {};
}

// The output is nobody's yet, so that each id is checked where it is used.
Fault gather_rows(const GatherRowsCall& call) {
    Lease lease(threads_worth(call.bytes()));
    if (call.ids.n == 0 || call.width == 0 || call.range.size == 0) {
        if (Fault fault = check_ids(call.ids, call.range, lease)) return fault;
        if (call.ids.n && call.width) std::memset(call.out, 0, call.ids.n * call.width);
        return {};
    }
    const int parts = lease.threads();
    const bool by_columns = call.ids.n < parts;  // few, very long rows
    Fault found[kMaxThreads];
    lease.run(parts, [&](int part) {
        const Span ids = by_columns ? Span{0, call.ids.n} : cut(call.ids.n, parts, part);
        const Span columns = by_columns ? cut(call.width, parts, part, 64) : Span{0, call.width};
        const i64 n = ids.last - ids.first;
        const i64 done = hot().read(call.data + columns.first, call.width, columns.last - columns.first, call.ids.part(ids.first, n),
                                    call.range, call.out + ids.first * call.width + columns.first, call.width);
        if (done < n) found[part] = {Fault::kIndex, ids.first + done, call.ids[ids.first + done]};
    });
    for (int part = 0; part < parts; ++part)
        if (found[part]) return found[part];
    return {};
}

}  // namespace ps
