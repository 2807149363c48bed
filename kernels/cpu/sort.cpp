#include "sort.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <utility>

namespace ps {
namespace {

constexpr i64 kFew = 256;       // ids that a comparison sort does faster than a table of counts is cleared
constexpr size_t kKept = 1 << 26;  // bytes of memory that are kept between calls, at most
constexpr int kMostDigits = 11; // bits of a digit: a count for each must stay in the first-level cache

int bits_for(i64 count) { return count <= 1 ? 0 : 64 - __builtin_clzll((u64)count - 1); }

i64 id_at(Ids ids, i64 i) {
    return ids.wide ? __atomic_load_n((const long long*)ids.data + i, __ATOMIC_RELAXED)
                    : __atomic_load_n((const int*)ids.data + i, __ATOMIC_RELAXED);
}

}  // namespace

// The system clears new pages, which takes as long as a sort: the memory of one call is kept for the next.
struct SortedIds::Memory {
    size_t bytes;
    std::unique_ptr<char[]> room;
    static std::atomic<Memory*> spare;
};
std::atomic<SortedIds::Memory*> SortedIds::Memory::spare{nullptr};

SortedIds::SortedIds() = default;
SortedIds::~SortedIds() {
    if (memory_ && memory_->bytes <= kKept) delete Memory::spare.exchange(memory_.release());
}

Fault SortedIds::pack(Ids ids, i64 size, Lease& lease, int parts, int low, int bits, bool* rising) {
    Fault found[kMaxThreads];
    bool fell[kMaxThreads] = {};
    u64* out = packed_;
    const int shift = keys_.shift;
    const u64 mask = ((u64)1 << bits) - 1;
    lease.run(parts, [&](int part) {
        unsigned* mine = counts_ + (i64)part * (1 << bits);
        std::fill(mine, mine + (1 << bits), 0u);
        const Span span = cut(ids.n, parts, part);
        u64 before = 0;
        bool down = false;
        for (i64 i = span.first; i < span.last; ++i) {
            const i64 id = id_at(ids, i);
            if ((u64)id >= (u64)size) {
                found[part] = {Fault::kIndex, i, id};
                return;
            }
            const u64 key = (u64)id << shift | (u64)i;
            down |= key < before;
            out[i] = before = key;
            ++mine[key >> low & mask];
        }
        fell[part] = down;
    });
    *rising = true;
    for (int part = 0; part < parts; ++part) {
        if (found[part]) return found[part];
        const Span span = cut(ids.n, parts, part);
        if (fell[part] || (span.first > 0 && span.first < span.last && out[span.first] < out[span.first - 1])) *rising = false;
    }
    return {};
}

void SortedIds::count(Lease& lease, int parts, int low, int bits) {
    const i64 n = keys_.n, digits = (i64)1 << bits;
    const u64* from = packed_;
    lease.run(parts, [&](int part) {
        unsigned* mine = counts_ + part * digits;
        std::fill(mine, mine + digits, 0u);
        const Span span = cut(n, parts, part);
        for (i64 i = span.first; i < span.last; ++i) ++mine[from[i] >> low & (u64)(digits - 1)];
    });
}

// A stable pass over `bits` bits from `low`, into the other array, once they are counted.
void SortedIds::move(Lease& lease, int parts, int low, int bits) {
    const i64 n = keys_.n, digits = (i64)1 << bits;
    const u64* from = packed_;
    u64* to = other_;
    unsigned place = 0;
    for (i64 digit = 0; digit < digits; ++digit)
        for (int part = 0; part < parts; ++part) {
            unsigned& count = counts_[part * digits + digit];
            const unsigned here = count;
            count = place;
            place += here;
        }
    lease.run(parts, [&](int part) {
        unsigned* mine = counts_ + part * digits;
        const Span span = cut(n, parts, part);
        for (i64 i = span.first; i < span.last; ++i) to[mine[from[i] >> low & (u64)(digits - 1)]++] = from[i];
    });
    std::swap(packed_, other_);
}

Fault SortedIds::sort(Ids ids, i64 size, Lease& lease) {
    const int id_bits = bits_for(size), shift = bits_for(ids.n);
    if (id_bits + shift > 64 || ids.n >> 32) throw std::length_error("_cpu: more ids than a sort takes");
    const int parts = std::min(lease.threads(), threads_worth(ids.n * 16));
    const int passes = ids.n <= kFew ? 0 : (id_bits + kMostDigits - 1) / kMostDigits;
    const auto bits_of = [&](int pass, int low) { return (id_bits - low + passes - pass - 1) / (passes - pass); };
    const size_t bytes = (size_t)ids.n * 16 + ((size_t)parts << kMostDigits) * 4;
    if (!memory_ || memory_->bytes < bytes) {
        memory_.reset(Memory::spare.exchange(nullptr));
        if (!memory_ || memory_->bytes < bytes) memory_.reset(new Memory{bytes, std::unique_ptr<char[]>(new char[bytes])});
    }
    packed_ = reinterpret_cast<u64*>(memory_->room.get());
    other_ = packed_ + ids.n;
    counts_ = reinterpret_cast<unsigned*>(other_ + ids.n);
    keys_ = {nullptr, ids.n, shift};

    bool rising = false;
    const Fault fault = pack(ids, size, lease, parts, shift, passes ? bits_of(0, 0) : 0, &rising);
    if (fault) return fault;
    if (!rising && !passes) std::sort(packed_, packed_ + ids.n);  // a key holds its position, so no two are equal
    for (int pass = 0, low = 0; !rising && pass < passes; ++pass) {
        const int bits = bits_of(pass, low);
        if (pass) count(lease, parts, shift + low, bits);
        move(lease, parts, shift + low, bits);
        low += bits;
    }
    keys_.key = packed_;
    return {};
}

i64 SortedIds::start_of(i64 i) const {
    if (i <= 0) return 0;
    if (i >= keys_.n) return keys_.n;
    const i64 id = keys_.id(i - 1);
    if (keys_.id(i) != id) return i;
    i64 step = 1, low = i;
    while (low + step < keys_.n && keys_.id(low + step) == id) low += step, step *= 2;
    i64 high = std::min(low + step, keys_.n);
    while (low + 1 < high) {
        const i64 middle = low + (high - low) / 2;
        (keys_.id(middle) == id ? low : high) = middle;
    }
    return high;
}

i64 SortedIds::segments(i64 begin, i64 end) const {
    i64 count = 0;
    for (i64 i = begin; i < end; ++i) count += i == 0 || keys_.id(i) != keys_.id(i - 1);
    return count;
}

}  // namespace ps
