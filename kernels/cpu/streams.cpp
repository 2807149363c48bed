// The plan kStreams. The updates are cut into spans, one for each thread, which reads its span from front to back as one
// thread would. A row that an earlier span touches must wait for that span; all its updates in this span are noted and
// applied afterwards, span by span. Rows that no earlier span touches are complete in themselves.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "block.h"
#include "check.h"
#include "plan.h"

namespace ps {
namespace {

struct Free {
    void operator()(void* p) const { std::free(p); }
};
template <class T> using Memory = std::unique_ptr<T[], Free>;  // touched only where it is used

// For each row (or, in large tables, each group of rows by hash) the first span that touches it; zero-filled memory says
// none. That a group is taken for one row makes more updates wait than must, and changes no bit.
class Tags {
  public:
    Tags(i64 rows, i64 n) {
        const i64 most = std::max<i64>(8 * n, 4096);
        int bits = 6;
        while (bits < 62 && (1LL << bits) < rows && (2LL << bits) <= most) ++bits;
        shift_ = rows <= 1LL << bits ? 0 : 64 - bits;
        tag_.reset((unsigned char*)std::calloc(1LL << bits, 1));
    }
    explicit operator bool() const { return (bool)tag_; }

    // Parts are marked one after the other, the last first: what stays is the first.
    void mark(i64 row, int part) { __atomic_store_n(at(row), (unsigned char)(part + 1), __ATOMIC_RELAXED); }
    bool before(i64 row, int part) const { return (unsigned)*at(row) - 1 < (unsigned)part; }

  private:
    unsigned char* at(i64 row) const {
        return tag_.get() + (shift_ ? (u64)row * 0x9E3779B97F4A7C15ull >> shift_ : (u64)row);
    }
    Memory<unsigned char> tag_;
    int shift_;
};

// Updates that wait: 12 bytes each.
struct Waiting {
    Memory<i64> row;
    Memory<unsigned> pos;
    i64 n = 0;
    explicit Waiting(i64 room) : row((i64*)std::malloc(room * sizeof(i64))), pos((unsigned*)std::malloc(room * sizeof(unsigned))) {}
    void note(i64 r, i64 p, bool waits) {
        row[n] = r;
        pos[n] = (unsigned)p;
        n += waits;
    }
};

constexpr i64 kScan = kBlock / 4;  // ids looked at between two looks at the room left

void apply_block(const RowsCall& call, Block& block) {
    call.cell.apply(call.data, call.width, call.width, block.target, block.pos, block.n, call.updates);
    block.n = 0;
}

void mark_span(const RowsCall& call, Span span, Tags& tags, int part) {
    i64 rows[kScan];
    for (i64 start = span.first; start < span.last; start += kScan) {
        const i64 n = std::min(kScan, span.last - start);
        hot().resolve(call.ids.part(start, n), call.range, rows);
        for (i64 i = 0; i < n; ++i)
            if (rows[i] >= 0) tags.mark(rows[i], part);
    }
}

void apply_span(const RowsCall& call, Span span, const Tags& tags, int part, Waiting& waiting) {
    if (part == 0) {  // nothing comes before it
        const char* updates = call.updates + span.first * call.width * call.cell.item;
        call.cell.direct(call.data, call.width, call.width, call.ids.part(span.first, span.last - span.first), call.range.checked(), updates);
        return;
    }
    Block block;
    i64 rows[kScan];
    for (i64 start = span.first; start < span.last; start += kScan) {
        const i64 n = std::min(kScan, span.last - start);
        hot().resolve(call.ids.part(start, n), call.range, rows);
        for (i64 i = 0; i < n; ++i) {
            const bool inside = rows[i] >= 0;
            const bool waits = inside && tags.before(rows[i], part);
            waiting.note(rows[i], start + i, waits);
            block.target[block.n] = rows[i];
            block.pos[block.n] = start + i;
            block.n += inside & !waits;
        }
        if (block.n > kBlock - kScan) apply_block(call, block);
    }
    apply_block(call, block);
}

void apply_waiting(const RowsCall& call, const std::vector<Waiting>& waiting, Owner owner) {
    Block block;
    for (const Waiting& list : waiting) {
        for (i64 start = 0; start < list.n; start += kScan) {
            const i64 n = std::min(kScan, list.n - start);
            for (i64 i = start; i < start + n; ++i) {
                block.target[block.n] = list.row[i];
                block.pos[block.n] = list.pos[i];
                block.n += owner_of(list.row[i], owner) == owner.self;
            }
            if (block.n > kBlock - kScan) apply_block(call, block);
        }
    }
    apply_block(call, block);
}

// The first span needs no look at the tags, and is that much longer.
Span span_of(i64 n, int parts, int part) {
    const i64 more = n / (parts * 16);
    const Span span = cut(n - more, parts, part);
    return {span.first + (part ? more : 0), span.last + more};
}

}  // namespace

bool scatter_streams(const RowsCall& call, int parts, Lease& lease) {
    const i64 n = call.ids.n;
    if (n > 0xffffffffLL || parts > 254) return false;
    Tags tags(call.range.size, n);
    if (!tags) return false;
    std::vector<Waiting> waiting;
    waiting.reserve(parts);
    for (int i = 0; i < parts; ++i) {
        const Span span = span_of(n, parts, i);
        waiting.emplace_back(i ? span.last - span.first + 1 : 1);  // one more than can wait: note() writes before it counts
        if (!waiting.back().row || !waiting.back().pos) return false;
    }
    for (int part = parts - 2; part >= 0; --part)  // the last span has nobody behind it
        lease.run(parts, [&](int i) {
            const Span span = span_of(n, parts, part), mine = cut(span.last - span.first, parts, i);
            mark_span(call, {span.first + mine.first, span.first + mine.last}, tags, part);
        });
    lease.run(parts, [&](int i) { apply_span(call, span_of(n, parts, i), tags, i, waiting[i]); });
    i64 waits = 0;
    for (const Waiting& list : waiting) waits += list.n;
    const int shift = group_shift(call.width * call.cell.item);
    const int last_parts = std::min(parts, threads_worth(waits * call.bytes() / n));
    lease.run(last_parts, [&](int i) { apply_waiting(call, waiting, {shift, last_parts, i}); });
    return true;
}

}  // namespace ps
