// The words that all CPU files share: ids, the bounds policy, faults, limits.
#pragma once

namespace ps {

using i64 = long long;
using u64 = unsigned long long;

enum : int {
#define PS_OP(name, kinds, view, divisor, expression) op_code_##name,
#include "../ops.def"
#undef PS_OP
    kOps
};
enum : int {
#define PS_DTYPE(name, type, kind) dtype_code_##name,
#include "../dtypes.def"
#undef PS_DTYPE
    kDtypes
};
constexpr int kRaw = kDtypes;  // the column after the dtypes: bytes of any item size, for operators that copy

enum Bounds : int { kRaise = 0, kDrop = 1, kClip = 2 };

struct Ids {
    const void* data;  // (n,) int32, or int64 where wide; another thread may rewrite it at any time
    bool wide;
    i64 n;
    const void* at(i64 i) const { return (const char*)data + i * (wide ? 8 : 4); }
    Ids part(i64 first, i64 count) const { return {at(first), wide, count}; }
    i64 bytes() const { return n * (wide ? 8 : 4); }
    i64 operator[](i64 i) const { return wide ? *(const volatile i64*)at(i) : *(const volatile int*)at(i); }
};

struct Range {
    i64 size;  // valid ids are [0, size), or [-size, size) where wrap
    Bounds bounds;
    bool wrap;
    i64 low() const { return wrap ? -size : 0; }
    // For ids that have been checked: one that another thread has made bad since then is left out.
    Range checked() const { return {size, bounds == kRaise ? kDrop : bounds, wrap}; }
};

struct Fault {
    enum Kind { kNone, kIndex, kZero } kind = kNone;
    i64 position = 0, value = 0;
    explicit operator bool() const { return kind != kNone; }
};

// Which of `parts` threads owns a target: neighbours within a group of 2^shift share an owner, so that two threads seldom
// write into one cache line; groups are spread by a multiplicative hash, because ids often follow a pattern.
// In 32-bit products, which vector units have.
struct Owner {
    int shift, parts, self;
};
constexpr unsigned kSpread = 0x9E3779B1u;
__attribute__((always_inline)) inline int owner_of(i64 target, Owner owner) {
    const u64 group = (u64)target >> owner.shift;
    const unsigned hash = (unsigned)(group ^ group >> 32) * kSpread;
    return (int)((u64)hash * (unsigned)owner.parts >> 32);
}

constexpr int kNoTag = 255;             // of an id without a row
constexpr i64 kBlock = 1024;           // ids resolved into private memory at a time

}  // namespace ps
