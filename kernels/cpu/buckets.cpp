// The plan kBuckets. Every id gets a tag of one byte, its bucket of rows; threads share this work, and check the ids in the same
// look. Then each thread picks the updates of its own buckets out of the tags, 32 at a time, and applies them in C order. Buckets
// are dealt by a sample of their sizes; one that is far larger than a fair share holds a hot row, and is cut into stripes of
// columns, if its rows are wide enough, for several threads.
#include <algorithm>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "block.h"
#include "check.h"
#include "plan.h"

namespace ps {
namespace {

using Tag = unsigned char;
constexpr int kBucketsEach = 4;  // buckets for each thread, to deal evenly
constexpr int kMostBuckets = kNoTag;

// What one thread does: buckets of whole rows, and stripes of buckets that others share.
struct Share {
    struct Stripe {
        Tag bucket;
        int index, count;
    };
    std::vector<Tag> whole;
    std::vector<Stripe> stripes;
    i64 load = 0;
};

std::vector<i64> sampled_sizes(const Tag* tags, i64 n, int buckets) {
    constexpr i64 kSample = 4096;
    std::vector<i64> sizes(kMostBuckets + 1);
    const i64 step = std::max<i64>(1, n / kSample);
    for (i64 i = 0; i < n; i += step) ++sizes[tags[i]];
    sizes.resize(buckets);
    return sizes;
}

// The largest first, each to the thread that has least so far.
std::vector<Share> dealt(const std::vector<i64>& sizes, int parts, i64 row_bytes) {
    std::vector<Share> shares(parts);
    std::vector<int> order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) { return sizes[a] > sizes[b]; });
    const i64 fair = std::max<i64>(1, std::accumulate(sizes.begin(), sizes.end(), i64{0}) / parts);
    for (int bucket : order) {
        const i64 most = std::min<i64>(parts, row_bytes / kStripe);
        const int stripes = (int)std::max<i64>(1, std::min(most, (sizes[bucket] + fair / 2) / fair));
        for (int s = 0; s < stripes; ++s) {
            Share& least = *std::min_element(shares.begin(), shares.end(), [](auto& a, auto& b) { return a.load < b.load; });
            least.load += sizes[bucket] / stripes + 1;
            if (stripes == 1)
                least.whole.push_back((Tag)bucket);
            else
                least.stripes.push_back({(Tag)bucket, s, stripes});
        }
    }
    return shares;
}

// The updates of these buckets, columns [first, last) of each.
void apply_buckets(const RowsCall& call, const Tag* tags, const Tag* wanted, int count, Span columns) {
    constexpr i64 kScan = kBlock / 2;  // tags looked at between two looks at the room left
    const i64 offset = columns.first * call.cell.item;
    Block block;
    const auto flush = [&] {
        block.n = hot().resolve_at(call.ids, call.range.checked(), block.pos, block.n, block.target);
        call.cell.apply(call.data + offset, call.width, columns.last - columns.first, block.target, block.pos, block.n,
                        call.updates + offset);
        block.n = 0;
    };
    for (i64 start = 0; start < call.ids.n; start += kScan) {
        const i64 n = std::min(kScan, call.ids.n - start);
        block.n += hot().pick(tags + start, n, wanted, count, start, block.pos + block.n);
        if (block.n > kBlock - kScan) flush();
    }
    flush();
}

void apply_share(const RowsCall& call, const Tag* tags, const Share& share) {
    if (!share.whole.empty()) apply_buckets(call, tags, share.whole.data(), (int)share.whole.size(), {0, call.width});
    for (const Share::Stripe& stripe : share.stripes) {
        const i64 grain = std::max<i64>(1, 64 / call.cell.item);
        apply_buckets(call, tags, &stripe.bucket, 1, cut(call.width, stripe.count, stripe.index, grain));
    }
}

Fault tag_all(const RowsCall& call, Owner buckets, Tag* tags, int parts, Lease& lease) {
    Fault found[kMaxThreads];
    lease.run(parts, [&](int part) {
        const Span span = cut(call.ids.n, parts, part);
        const i64 n = span.last - span.first;
        const i64 at = hot().tag(call.ids.part(span.first, n), call.range, buckets, tags + span.first);
        if (at < n) found[part] = {Fault::kIndex, span.first + at, call.ids[span.first + at]};
    });
    for (int part = 0; part < parts; ++part)
        if (found[part]) return found[part];
    return {};
}

}  // namespace

bool scatter_buckets(const RowsCall& call, int parts, Lease& lease, Fault& fault) {
    if (call.range.size == 0) return false;  // no id has a row: the caller's check says so
    const i64 row_bytes = call.width * call.cell.item;
    const Owner buckets{group_shift(row_bytes), std::min(parts * kBucketsEach, kMostBuckets), 0};
    const std::unique_ptr<Tag[]> tags(new (std::nothrow) Tag[call.ids.n]);
    if (!tags) return false;
    fault = tag_all(call, buckets, tags.get(), parts, lease);
    if (!fault && call.check_zero)
        fault = check_divisors(call.updates, call.cell.item, call.ids.n * call.width, lease);
    if (fault) return true;
    std::vector<Share> shares;
    try {
        shares = dealt(sampled_sizes(tags.get(), call.ids.n, buckets.parts), parts, row_bytes);
    } catch (const std::bad_alloc&) {
        return false;
    }
    lease.run(parts, [&](int part) { apply_share(call, tags.get(), shares[part]); });
    return true;
}

}  // namespace ps
