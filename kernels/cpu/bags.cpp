#include "bags.h"

#include <algorithm>
#include <cstring>

#include "check.h"
#include "hot.h"

namespace ps_baseline { extern const ps::BagTable bag_table; }
#if defined(PS_HAVE_X86_LEVELS)
namespace ps_avx2 { extern const ps::BagTable bag_table; }
namespace ps_avx512 { extern const ps::BagTable bag_table; }
#endif

namespace ps {
namespace {

// The first bag of part i, so that parts have about as many ids each.
i64 first_of(const BagCall& call, int parts, int i) {
    if (i == 0) return 0;
    if (i == parts) return call.bags;
    const i64 share = cut(call.ids.n + call.bags, parts, i).first;  // a bag costs about what an id does
    i64 low = 0, high = call.bags;
    while (low < high) {
        const i64 middle = low + (high - low) / 2;
        if (call.begin(middle) + middle < share)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

}  // namespace

const BagTable& bag_table() {
#if defined(PS_HAVE_X86_LEVELS)
    for (const BagTable* table : {&ps_avx512::bag_table, &ps_avx2::bag_table})
        if (!std::strcmp(table->name, hot().name)) return *table;
#endif
    return ps_baseline::bag_table;
}

Fault reduce_bags(const BagCall& call, BagFn bags) {
    if (call.bags == 0) return {};
    Lease lease(threads_worth(call.bytes()));
    const int threads = lease.threads();
    const bool by_columns = call.bags < threads;  // few, very long bags
    Fault found[kMaxThreads];
    lease.run(threads, [&](int part) {
        if (!by_columns) return bags(call, first_of(call, threads, part), first_of(call, threads, part + 1), found + part);
        const Span columns = cut(call.width, threads, part, std::max(1, 64 / call.item));
        if (columns.first == columns.last && part) return;
        BagCall stripe = call;
        stripe.data += columns.first * call.item;
        stripe.out += columns.first * call.item;
        if (call.winners) stripe.winners += columns.first;
        stripe.width = columns.last - columns.first;
        bags(stripe, 0, call.bags, found + part);
    });
    Fault first;
    for (int part = 0; part < threads; ++part)
        if (found[part] && (!first || found[part].position < first.position)) first = found[part];
    return first;
}

}  // namespace ps
