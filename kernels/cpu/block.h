// A private block of targets on its way from resolve() to an ApplyFn.
#pragma once
#include "hot.h"

namespace ps {

// Which thread owns a target: neighbours within a group of 2^shift share an owner, so that two threads seldom write
// into one cache line; groups are spread by a multiplicative hash, because ids often follow a pattern.
struct Owner {
    int shift, parts, self;
    bool owns(i64 target) const {
        const u64 group = (u64)target >> shift;
        const u64 hash = (group * 0x9E3779B97F4A7C15ull) >> 32;
        return (int)(hash * (u64)parts >> 32) == self;
    }
};

// Smallest shift for which a group of targets of `bytes` each fills 256 bytes: a line and the line that the
// hardware fetches with it, twice.
inline int group_shift(i64 bytes) {
    int shift = 0;
    while (shift < 8 && (bytes << shift) < 256) ++shift;
    return shift;
}

// Whether owners are worth it for targets of `bytes` each: every thread scans every id, at about 2.5 ns, which is what
// a whole update of a few bytes costs one thread.
inline bool scan_pays(i64 bytes, int threads) { return bytes >= 32 || (bytes >= 8 && threads >= 4); }

struct Block {
    i64 target[kBlock];
    i64 pos[kBlock];
    i64 n = 0;

    // Appends those of targets[0..count) that `keep` accepts, with positions first, first + 1, ...
    // Needs room for count more, even if few are kept.
    template <class Keep> void append(const i64* targets, i64 count, i64 first, Keep&& keep) {
        i64 m = n;
        for (i64 i = 0; i < count; ++i) {
            target[m] = targets[i];
            pos[m] = first + i;
            m += keep(targets[i]);
        }
        n = m;
    }
};

}  // namespace ps
