#include "plan.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "block.h"

namespace ps {
namespace {

std::atomic<int> g_forced{-1};

constexpr i64 kWide = 2048;       // stripes that are long enough to be read as well as whole rows
constexpr int kTagging = 4;       // threads; fewer do better when each looks at every id itself
constexpr i64 kCached = 1 << 20;  // bytes of a table whose rows cost less than to find out who owns them

}  // namespace

void force_plan(int kind) {
    if (kind < -1 || kind > Plan::kBuckets) throw std::invalid_argument("_cpu: kind is no number of a Plan::Kind, or -1");
    g_forced.store(kind, std::memory_order_relaxed);
}
bool plan_is_forced() { return g_forced.load(std::memory_order_relaxed) >= 0; }

Plan plan_rows(const RowsCall& call, int threads) {
    if (threads <= 1) return {Plan::kSerial, 1};
    if (const int forced = g_forced.load(std::memory_order_relaxed); forced >= 0) return {(Plan::Kind)forced, threads};
    const i64 row_bytes = call.width * call.cell.item;
    const int stripes = (int)std::min<i64>(threads, row_bytes / kStripe);
    if (row_bytes >= kWide * threads || stripes == threads) return {Plan::kColumns, threads};
    const i64 groups = (call.range.size >> group_shift(row_bytes)) + 1;
    if (groups >= 4 * threads) {
        if (threads >= kTagging && row_bytes >= 4) return {Plan::kBuckets, threads};
        if (threads < kTagging && row_bytes >= 16 && call.range.size > kCached / row_bytes) return {Plan::kOwner, threads};
    }
    if (stripes > 1) return {Plan::kColumns, stripes};
    return {Plan::kSerial, 1};
}

}  // namespace ps
