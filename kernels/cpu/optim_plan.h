// A step of an optimizer and a coalescing of slices, over the threads of one call.
#pragma once
#include <vector>

#include "hot.h"
#include "optim.h"
#include "sort.h"

namespace ps {

struct OptimCall {
    int rule, dtype;
    bool has_ids;  // otherwise every row, with the update of its place
    Ids ids;
    Step step;
    i64 bytes() const;
};

// All or nothing: a fault is found before the first write. Each row is one thread's, and its updates are summed in C order.
Fault step_rows(const OptimCall& call);

class Coalesce {
  public:
    Fault fault;
    Coalesce(const SliceType& type, Ids ids, i64 size, i64 width, i64 item);
    i64 rows() const { return first_.empty() ? 0 : first_.back(); }
    void write(const char* values, bool wide, char* ids, char* out) const;

  private:
    const SliceType& type_;
    i64 width_, row_bytes_;
    SortedIds sorted_;
    std::vector<i64> first_;  // how many segments start before each share
};

}  // namespace ps
