// Fresh pages cost several times what the work on them costs: the system clears each one, on first touch. So the memory of large
// results is kept when they die, for the next result of that size; NumPy's own hook for allocators returns it. What is kept is
// bounded, and PARAMSTORE_KEEP_MB says how much: 0 keeps nothing.
#include "memory.h"

#include <stdint.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>

#include "scatter.h"

namespace ps {
namespace {

constexpr size_t kHuge = 2 << 20;   // bytes of a large page
constexpr i64 kLarge = 4 << 20;  // smaller ones the C library keeps itself

size_t rounded(size_t bytes) { return (bytes + kHuge - 1) / kHuge * kHuge; }

void* mapped(size_t bytes) {
    char* raw = (char*)mmap(nullptr, bytes + kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
    char* start = (char*)(((u64)raw + kHuge - 1) / kHuge * kHuge);
    if (start > raw) munmap(raw, start - raw);
    munmap(start + bytes, raw + kHuge - start);
#if defined(MADV_HUGEPAGE)
    madvise(start, bytes, MADV_HUGEPAGE);
#endif
    return start;
}

// Nobody waits for it: whoever finds it busy does without. So a fork while another thread is in here leaves no lock behind
// that a child would wait for.
class Kept {
  public:
    Kept() {
        const char* text = std::getenv("PARAMSTORE_KEEP_MB");
        char* end = nullptr;
        const long long asked = text ? std::strtoll(text, &end, 10) : -1;
        if (text && end != text && !*end && asked >= 0) most_ = std::min<size_t>(asked, 1 << 20) << 20;
    }

    void* take(size_t bytes, bool* fresh) {
        if (std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock); lock)
            for (auto it = blocks_.begin(); it != blocks_.end(); ++it)
                if (it->bytes == bytes) {
                    void* found = it->start;
                    total_ -= bytes;
                    blocks_.erase(it);
                    *fresh = false;
                    return found;
                }
        *fresh = true;
        return mapped(bytes);
    }

    void give(void* start, size_t bytes) {
        std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (!lock || bytes > most_) {
            munmap(start, bytes);
            return;
        }
        for (; total_ + bytes > most_; blocks_.pop_front()) {  // the oldest goes first
            total_ -= blocks_.front().bytes;
            munmap(blocks_.front().start, blocks_.front().bytes);
        }
        blocks_.push_back({start, bytes});
        total_ += bytes;
    }

  private:
    struct Block {
        void* start;
        size_t bytes;
    };
    std::mutex mutex_;
    std::deque<Block> blocks_;
    size_t total_ = 0, most_ = 256 << 20;
};

Kept& kept() {
    static Kept& everlasting = *new Kept;  // arrays may die after static objects have
    return everlasting;
}

// A cache line before the items says how long the block is, header included.
constexpr size_t kHeader = 64;
thread_local bool g_fresh = false;  // whether the block that this thread took last came cleared from the system

void* take(void*, size_t bytes) {
    if (bytes > SIZE_MAX / 2) return nullptr;
    bytes = rounded(bytes + kHeader);
    char* start = (char*)kept().take(bytes, &g_fresh);
    if (!start) return nullptr;
    std::memcpy(start, &bytes, sizeof bytes);
    return start + kHeader;
}
void give(void*, void* items, size_t) {
    if (!items) return;
    char* start = (char*)items - kHeader;
    size_t bytes;
    std::memcpy(&bytes, start, sizeof bytes);
    kept().give(start, bytes);
}
void* take_cleared(void* context, size_t count, size_t bytes) {
    void* items = take(context, count * bytes);
    return items && !g_fresh ? std::memset(items, 0, count * bytes) : items;
}
void* take_other(void* context, void* items, size_t bytes) {  // ndarray.resize
    void* other = take(context, bytes);
    if (!other || !items) return other;
    size_t before;
    std::memcpy(&before, (char*)items - kHeader, sizeof before);
    std::memcpy(other, items, std::min(bytes, before - kHeader));
    give(context, items, 0);
    return other;
}

PyDataMem_Handler g_handler = {"paramstore", 1, {nullptr, take, take_cleared, take_other, give}};
PyObject* g_capsule = nullptr;

}  // namespace

void init_memory() {
    g_capsule = PyCapsule_New(&g_handler, "mem_handler", nullptr);
    if (!g_capsule) throw nb::python_error();
}

PyObject* new_array(int ndim, const i64* shape, const Array& like, bool* cleared) {
    npy_intp sizes[kMaxDims];
    i64 bytes = like.itemsize();
    for (int d = 0; d < ndim; ++d) {
        sizes[d] = shape[d];
        if (__builtin_mul_overflow(bytes, shape[d], &bytes)) bytes = 0;  // NumPy refuses it, or it is empty
    }
    const bool large = bytes >= kLarge;
    const int type = PyArray_TYPE(like.object);
    PyObject* before = large ? PyDataMem_SetHandler(g_capsule) : nullptr;
    if (large && !before) PyErr_Clear();
    PyObject* made = cleared && !large ? PyArray_ZEROS(ndim, sizes, type, 0) : PyArray_SimpleNew(ndim, sizes, type);
    if (!made) PyErr_Clear();
    if (cleared) *cleared = !large || (before && g_fresh);
    if (before) {
        PyObject* ours = PyDataMem_SetHandler(before);
        Py_XDECREF(ours);
        Py_DECREF(before);
    }
    return made;
}

}  // namespace ps
