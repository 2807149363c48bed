// A private block of targets on its way from resolve() to an ApplyFn.
#pragma once
#include "hot.h"

namespace ps {

// Smallest shift for which a group of targets of `bytes` each fills 256 bytes: a line and the line that the
// hardware fetches with it, twice.
inline int group_shift(i64 bytes) {
    int shift = 0;
    while (shift < 8 && (bytes << shift) < 256) ++shift;
    return shift;
}

// Whether owners are worth it for targets of `bytes` each: every thread scans every id, at about what a whole update of a
// few bytes costs one thread.
inline bool scan_pays(i64 bytes, int threads) { return bytes >= 32 || (bytes >= 4 && threads >= 4); }

struct Block {
    i64 target[kBlock + kSplitRoom];
    i64 pos[kBlock + kSplitRoom];
    i64 n = 0;

    // Appends those of targets[0..count) that `owner` owns. Needs room for count more.
    void append_owned(const i64* targets, i64 count, i64 first, Owner owner) {
        n += hot().split(targets, count, first, owner, target + n, pos + n);
    }

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
