// Ids with their positions, sorted: equal ids keep the order of their positions.
#pragma once
#include <memory>

#include "check.h"
#include "optim.h"

namespace ps {

class SortedIds {
  public:
    // Reads each id once. The first, in C order, that is not in [0, size) is the fault; no keys then.
    // Throws bad_alloc, or length_error where an id and a position do not fit into 64 bits.
    Fault sort(Ids ids, i64 size, Lease& lease);

    const Keys& keys() const { return keys_; }
    i64 start_of(i64 i) const;  // the first segment that starts at i or behind it
    i64 segments(i64 begin, i64 end) const;  // how many start in [begin, end)

    SortedIds();
    ~SortedIds();

  private:
    Fault pack(Ids ids, i64 size, Lease& lease, int parts, int low, int bits, bool* rising);
    void count(Lease& lease, int parts, int low, int bits);
    void move(Lease& lease, int parts, int low, int bits);
    struct Memory;
    std::unique_ptr<Memory> memory_;
    u64 *packed_ = nullptr, *other_ = nullptr;
    unsigned* counts_ = nullptr;
    Keys keys_{};
};

}  // namespace ps
