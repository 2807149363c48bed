#include "plan.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "block.h"

namespace ps {
namespace {

std::atomic<int> g_forced{-1};

// Bytes of a row for one thread: two lines, which the hardware fetches together.
constexpr i64 kStripe = 128;
constexpr i64 kWide = 2048;  // stripes that are long enough to be read as well as whole rows

// The part of an evenly spaced sample of the ids that repeats an id seen before, in percent.
int repeats(const RowsCall& call) {
    constexpr i64 kSample = 256, kSlots = 1024;
    i64 slot[kSlots], seen = 0, again = 0;
    std::fill_n(slot, kSlots, -1);
    const i64 step = std::max<i64>(1, call.ids.n / kSample);
    for (i64 i = 0; i < call.ids.n && seen < kSample; i += step, ++seen) {
        i64 row = -1;
        hot().resolve(call.ids.part(i, 1), call.range, &row);
        u64 at = (u64)row * 0x9E3779B97F4A7C15ull >> 54;
        while (slot[at] != -1 && slot[at] != row) at = (at + 1) % kSlots;
        again += slot[at] == row;
        slot[at] = row;
    }
    return (int)(seen ? 100 * again / seen : 0);
}

// Whether few updates would have to wait for another span's: a span of n/parts ids seldom meets the others' rows.
bool spans_are_apart(const RowsCall& call) { return call.ids.n <= call.range.size && repeats(call) <= 25; }

}  // namespace

void force_plan(int kind) {
    if (kind < -1 || kind > Plan::kStreams) throw std::invalid_argument("_cpu: kind is no number of a Plan::Kind, or -1");
    g_forced.store(kind, std::memory_order_relaxed);
}
bool plan_is_forced() { return g_forced.load(std::memory_order_relaxed) >= 0; }

Plan plan_rows(const RowsCall& call, int threads) {
    if (threads <= 1) return {Plan::kSerial, 1};
    if (const int forced = g_forced.load(std::memory_order_relaxed); forced >= 0) return {(Plan::Kind)forced, threads};
    const i64 row_bytes = call.width * call.cell.item;
    const int stripes = (int)std::min<i64>(threads, row_bytes / kStripe);
    const i64 groups = (call.range.size >> group_shift(row_bytes)) + 1;
    if (row_bytes >= kWide * threads) return {Plan::kColumns, threads};
    if (row_bytes >= 32 && spans_are_apart(call)) return {Plan::kStreams, threads};
    if (stripes == threads) return {Plan::kColumns, threads};
    if (groups >= 4 * threads && scan_pays(row_bytes, threads)) return {Plan::kOwner, threads};
    if (stripes > 1) return {Plan::kColumns, stripes};
    return {Plan::kSerial, 1};
}

}  // namespace ps
