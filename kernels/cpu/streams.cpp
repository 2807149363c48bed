// The plan kStreams. The updates are cut into spans, one for each thread, which reads its span from front to back as one
// thread would. A row that an earlier span touches must wait for that span; all its updates in this span are noted and
// applied afterwards, span by span. Rows that no earlier span touches are complete in themselves.
#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "block.h"
#include "check.h"
#include "plan.h"

namespace ps {
namespace {

// For each row (or, in large tables, each group of rows by hash) the first span that touches it. That a group is taken for
// one row makes more updates wait than must, and changes no bit.
class Tags {
  public:
    Tags(i64 rows, i64 n) {
        const i64 most = std::max<i64>(4 * n, 4096);
        int bits = 6;
        while (bits < 62 && (1LL << bits) < rows && (2LL << bits) <= most) ++bits;
        size_ = 1LL << bits;
        shift_ = rows <= size_ ? 0 : 64 - bits;
        tag_.reset(new unsigned char[size_]);
    }
    i64 size() const { return size_; }
    void clear(Span span) { std::fill(tag_.get() + span.first, tag_.get() + span.last, (unsigned char)255); }

    void mark(i64 row, unsigned char part) {
        unsigned char* tag = at(row);
        unsigned char seen = __atomic_load_n(tag, __ATOMIC_RELAXED);
        while (seen > part && !__atomic_compare_exchange_n(tag, &seen, part, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        }
    }
    int first(i64 row) const { return *at(row); }

  private:
    unsigned char* at(i64 row) const {
        return tag_.get() + (shift_ ? (u64)row * 0x9E3779B97F4A7C15ull >> shift_ : (u64)row);
    }
    std::unique_ptr<unsigned char[]> tag_;
    i64 size_;
    int shift_;
};

// Updates that wait: 12 bytes each.
struct Waiting {
    std::unique_ptr<i64[]> row;
    std::unique_ptr<unsigned[]> pos;
    i64 n = 0;
    explicit Waiting(i64 room) : row(new i64[room]), pos(new unsigned[room]) {}
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
            if (rows[i] >= 0) tags.mark(rows[i], (unsigned char)part);
    }
}

void apply_span(const RowsCall& call, Span span, const Tags& tags, int part, Waiting& waiting) {
    if (part == 0) {  // nothing comes before it
        const char* updates = call.updates + span.first * call.width * call.cell.item;
        call.cell.direct(call.data, call.width, call.width, call.ids.part(span.first, span.last - span.first), call.range, updates);
        return;
    }
    Block block;
    i64 rows[kScan];
    for (i64 start = span.first; start < span.last; start += kScan) {
        const i64 n = std::min(kScan, span.last - start);
        hot().resolve(call.ids.part(start, n), call.range, rows);
        for (i64 i = 0; i < n; ++i) {
            const bool inside = rows[i] >= 0;
            const bool waits = inside && tags.first(rows[i]) < part;
            waiting.note(rows[i], start + i, waits);
            block.target[block.n] = rows[i];
            block.pos[block.n] = start + i;
            block.n += inside & !waits;
        }
        if (block.n > kBlock - kScan) apply_block(call, block);
    }
    apply_block(call, block);
}

void apply_waiting(const RowsCall& call, const Waiting* waiting, int parts, Owner owner) {
    Block block;
    for (int part = 1; part < parts; ++part) {
        const Waiting& list = waiting[part];
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

}  // namespace

bool scatter_streams(const RowsCall& call, int parts, Lease& lease) {
    const i64 n = call.ids.n;
    if (n > 0xffffffffLL || parts > 255) return false;
    std::vector<Waiting> waiting;
    std::optional<Tags> tags;
    try {
        tags.emplace(call.range.size, n);
        waiting.reserve(parts);
        for (int i = 0; i < parts; ++i) {
            const Span span = cut(n, parts, i);
            waiting.emplace_back(i ? span.last - span.first + 1 : 0);  // one more than can wait: note() writes before it counts
        }
    } catch (const std::bad_alloc&) {
        return false;
    }
    lease.run(parts, [&](int i) { tags->clear(cut(tags->size(), parts, i)); });
    lease.run(parts, [&](int i) {  // the last span has nobody behind it, so that all share the marking of the others
        for (int part = 0; part + 1 < parts; ++part) {
            const Span span = cut(n, parts, part), mine = cut(span.last - span.first, parts, i);
            mark_span(call, {span.first + mine.first, span.first + mine.last}, *tags, part);
        }
    });
    lease.run(parts, [&](int i) { apply_span(call, cut(n, parts, i), *tags, i, waiting[i]); });
    i64 waits = 0;
    for (const Waiting& list : waiting) waits += list.n;
    const int shift = group_shift(call.width * call.cell.item);
    const int last_parts = std::min(parts, threads_worth(waits * call.bytes() / n));
    lease.run(last_parts, [&](int i) { apply_waiting(call, waiting.data(), parts, {shift, last_parts, i}); });
    return true;
}

}  // namespace ps
