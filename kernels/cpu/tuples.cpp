#include <algorithm>

#include "check.h"
#include "scatter.h"

namespace ps {
namespace {

// Tuples [first, last): each id is read once.
template <class I> Fault flatten_part(const TuplesCall& call, i64 first, i64 last) {
    const I* ids = (const I*)call.ids.data + first * call.k;
    for (i64 t = first; t < last; ++t, ids += call.k) {
        i64 offset = 0;
        bool inside = true;
        for (int d = 0; d < call.k; ++d) {
            const volatile I& slot = ids[d];
            const i64 id = slot, size = call.dims[d];
            i64 at = call.wrap && id < 0 ? id + size : id;
            if (at < 0 || at >= size) {
                if (call.bounds == kRaise || (call.bounds == kClip && size == 0))
                    return {Fault::kIndex, t * call.k + d, id};
                inside = inside && call.bounds == kClip;
                at = at < 0 || call.bounds == kDrop ? 0 : size - 1;
            }
            offset += at * call.strides[d];
        }
        call.out[t] = inside ? offset : -1;
    }
    return {};
}

}  // namespace

Fault flatten_tuples(const TuplesCall& call) {
    Lease lease(threads_worth(call.bytes()));
    const int parts = lease.threads();
    Fault found[kMaxThreads];
    lease.run(parts, [&](int i) {
        const Span tuples = cut(call.n, parts, i);
        found[i] = call.ids.wide ? flatten_part<i64>(call, tuples.first, tuples.last)
                                 : flatten_part<int>(call, tuples.first, tuples.last);
    });
    for (int i = 0; i < parts; ++i)
        if (found[i]) return found[i];
    return {};
}

}  // namespace ps
