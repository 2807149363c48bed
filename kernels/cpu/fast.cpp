// Calls that need no conversion, recognised and run in one step. Each declines, with nothing touched, whatever else comes, and
// every fault: the general path in Python then says what is wrong.
#include "fast.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "arrays.h"
#include "check.h"
#include "gil.h"
#include "memory.h"
#include "pool.h"
#include "scatter.h"

namespace ps {
namespace {

// A plain ndarray: C-contiguous, aligned, in native byte order, of a number type.
bool is_plain(nb::handle object, Array& array, int flags = NPY_ARRAY_CARRAY_RO) {
    if (Py_TYPE(object.ptr()) != &PyArray_Type) return false;
    array.object = reinterpret_cast<PyArrayObject*>(object.ptr());
    return PyArray_CHKFLAGS(array.object, flags) && PyArray_ISNOTSWAPPED(array.object) && dtype_of(array) >= 0;
}

// An index array of one of the allowed dtypes: 1 int32, 2 int64, 3 both.
bool is_index(nb::handle object, Array& array, int allowed) {
    if (!is_plain(object, array)) return false;
    const int dtype = dtype_of(array);
    return (dtype == dtype_code_int32 && allowed & 1) || (dtype == dtype_code_int64 && allowed & 2);
}

bool is_bounds(int bounds) { return bounds == kRaise || bounds == kDrop || bounds == kClip; }

Ids ids_in(const Array& indices) { return {indices.data(), dtype_of(indices) == dtype_code_int64, indices.size()}; }

// Whether shape is a.shape[:first] + b.shape[skipped:].
bool is_joined(const Array& shape, const Array& a, int first, const Array& b, int skipped) {
    if (shape.ndim() != first + b.ndim() - skipped) return false;
    for (int d = 0; d < first; ++d)
        if (shape.shape()[d] != a.shape()[d]) return false;
    for (int d = first; d < shape.ndim(); ++d)
        if (shape.shape()[d] != b.shape()[skipped + d - first]) return false;
    return true;
}

i64 product(const i64* shape, int first, int last) {
    i64 items = 1;
    for (int d = first; d < last; ++d) items *= shape[d];
    return items;
}

// Flat ids for index tuples, in private memory.
class FlatIds {
  public:
    // (indices, data.shape): tuples address the first k dimensions
    FlatIds(const Array& indices, const i64* dims, Bounds bounds, bool wrap) {
        const int k = (int)indices.shape()[indices.ndim() - 1];
        i64 items = 1;
        for (int d = k - 1; d >= 0; --d) {
            strides_[d] = items;
            items *= dims[d];
        }
        const Ids ids = ids_in(indices);
        const i64 n = product(indices.shape(), 0, indices.ndim() - 1);
        if (k == 1) {
            ids_ = ids;
            range_ = {items, bounds, wrap};
            return;
        }
        out_ = few_;
        if (n > kFew) many_.reset(out_ = new (std::nothrow) i64[n]);
        call_ = {ids, n, k, dims, strides_, bounds, wrap, out_};
        ids_ = {out_, true, n};
        range_ = {items, kDrop, false};
    }
    FlatIds(const FlatIds&) = delete;
    FlatIds& operator=(const FlatIds&) = delete;
    bool flatten() { return !call_.k || (out_ && !flatten_tuples(call_)); }
    Ids ids() const { return ids_; }
    Range range() const { return range_; }

  private:
    static constexpr i64 kFew = 64;
    i64 few_[kFew], strides_[kMaxDims];
    std::unique_ptr<i64[]> many_;
    i64* out_ = nullptr;
    TuplesCall call_{};
    Ids ids_{};
    Range range_{};
};

bool is_tuples(const Array& indices, const Array& data) {
    if (indices.ndim() < 2) return false;
    const i64 k = indices.shape()[indices.ndim() - 1];
    return k >= 1 && k <= data.ndim();
}

// ---- copies -----------------------------------------------------------------------------------------------------------

Array array_in(const nb::object& object) { return {reinterpret_cast<PyArrayObject*>(object.ptr())}; }

void copy(char* to, const char* from, i64 bytes) {
    Lease lease(threads_worth(2 * bytes));
    const int parts = lease.threads();
    lease.run(parts, [&](int i) {
        const Span span = cut(bytes, parts, i, 4096);
        std::memcpy(to + span.first, from + span.first, span.last - span.first);
    });
}

void clear(char* to, i64 bytes) {
    Lease lease(threads_worth(bytes));
    const int parts = lease.threads();
    lease.run(parts, [&](int i) {
        const Span span = cut(bytes, parts, i, 4096);
        std::memset(to + span.first, 0, span.last - span.first);
    });
}

// ---- scatters: the cell and the updates fit; `run` works on a target of the shape of data -----------------------------------

struct Scatter {
    Array data, indices, updates;
    Cell cell;
    bool check_zero;
};

bool is_scatter(Scatter& s, int op, nb::handle data, nb::handle indices, nb::handle updates, int bounds, int allowed, int flags) {
    if (op < 0 || op >= kOps || !is_bounds(bounds) || !is_plain(data, s.data, flags) || !is_index(indices, s.indices, allowed)) return false;
    if (!is_plain(updates, s.updates)) return false;
    const int dtype = dtype_of(s.data);
    if (dtype != dtype_of(s.updates) || s.data.ndim() == 0) return false;
    s.cell = hot().op[op].cell[dtype];
    s.check_zero = kOpInfo[op].refuses_zero && kDtypeInfo[dtype].integer;
    return s.cell.apply != nullptr;
}

bool run_rows(const Scatter& s, Ids ids, Range range, int depth, char* target) {
    const i64 width = product(s.data.shape(), depth, s.data.ndim()) * s.cell.factor;
    return !scatter_rows({s.cell, s.check_zero, target, width, ids, range, s.updates.data()});
}

bool is_elements(const Scatter& s, int axis) {
    if (axis < 0 || axis >= s.data.ndim() || s.indices.ndim() != s.data.ndim()) return false;
    if (!is_joined(s.updates, s.indices, s.indices.ndim(), s.indices, s.indices.ndim())) return false;
    for (int d = 0; d < s.data.ndim(); ++d)
        if (d != axis && s.indices.shape()[d] > s.data.shape()[d]) return false;
    return true;
}

i64 traffic(const Scatter& s) { return s.indices.bytes() + 3 * s.updates.bytes(); }

bool fast_rows(int op, nb::handle data, nb::handle indices, nb::handle updates, int bounds) {
    Scatter s;
    if (!is_scatter(s, op, data, indices, updates, bounds, 3, NPY_ARRAY_CARRAY)) return false;
    if (!is_joined(s.updates, s.indices, s.indices.ndim(), s.data, 1)) return false;
    if (overlap(s.data, s.indices) || overlap(s.data, s.updates)) return false;
    const Range range{s.data.shape()[0], (Bounds)bounds, false};
    return without_gil(traffic(s), [&] { return run_rows(s, ids_in(s.indices), range, 1, s.data.data()); });
}

bool fast_nd(int op, nb::handle data, nb::handle indices, nb::handle updates, int bounds, bool wrap, int allowed) {
    Scatter s;
    if (!is_scatter(s, op, data, indices, updates, bounds, allowed, NPY_ARRAY_CARRAY) || !is_tuples(s.indices, s.data)) return false;
    const int lead = s.indices.ndim() - 1, depth = (int)s.indices.shape()[lead];
    if (!is_joined(s.updates, s.indices, lead, s.data, depth)) return false;
    if (overlap(s.data, s.indices) || overlap(s.data, s.updates)) return false;
    FlatIds flat(s.indices, s.data.shape(), (Bounds)bounds, wrap);
    return without_gil(traffic(s), [&] {
        return flat.flatten() && run_rows(s, flat.ids(), flat.range(), depth, s.data.data());
    });
}

nb::object fast_copy_nd(int op, nb::handle data, nb::handle indices, nb::handle updates, int bounds, bool wrap, int allowed) {
    Scatter s;
    if (!is_scatter(s, op, data, indices, updates, bounds, allowed, NPY_ARRAY_CARRAY_RO) || !is_tuples(s.indices, s.data))
        return nb::none();
    const int lead = s.indices.ndim() - 1, depth = (int)s.indices.shape()[lead];
    if (!is_joined(s.updates, s.indices, lead, s.data, depth)) return nb::none();
    nb::object out = nb::steal(new_array(s.data.ndim(), s.data.shape(), s.data));
    if (!out.is_valid()) return nb::none();
    FlatIds flat(s.indices, s.data.shape(), (Bounds)bounds, wrap);
    char* target = array_in(out).data();
    const bool done = without_gil(traffic(s) + 2 * s.data.bytes(), [&] {
        if (!flat.flatten()) return false;
        copy(target, s.data.data(), s.data.bytes());
        return run_rows(s, flat.ids(), flat.range(), depth, target);
    });
    return done ? out : nb::none();
}

nb::object fast_copy_elements(int op, nb::handle data, nb::handle indices, nb::handle updates, int axis, int bounds, bool wrap,
                              int allowed) {
    Scatter s;
    if (!is_scatter(s, op, data, indices, updates, bounds, allowed, NPY_ARRAY_CARRAY_RO)) return nb::none();
    if (axis < 0) axis += s.data.ndim();
    if (!is_elements(s, axis)) return nb::none();
    nb::object out = nb::steal(new_array(s.data.ndim(), s.data.shape(), s.data));
    if (!out.is_valid()) return nb::none();
    ElementsCall call{s.cell, s.check_zero, array_in(out).data(),
                      make_walk(s.data.ndim(), axis, s.data.shape(), s.indices.shape()), ids_in(s.indices),
                      {s.data.shape()[axis], (Bounds)bounds, wrap}, s.updates.data()};
    const bool done = without_gil(traffic(s) + 2 * s.data.bytes(), [&] {
        copy(call.data, s.data.data(), s.data.bytes());
        return !scatter_elements(call);
    });
    return done ? out : nb::none();
}

// A shape as a tuple or a list of ints, or an array of indices of one dimension; -1 where it is none of them.
int sizes_of(nb::handle shape, i64* sizes) {
    Array array;
    if (is_index(shape, array, 3)) {
        if (array.ndim() != 1 || array.size() > kMaxDims) return -1;
        for (i64 d = 0; d < array.size(); ++d)
            if ((sizes[d] = ids_in(array)[d]) < 0) return -1;
        return (int)array.size();
    }
    if (!PyTuple_CheckExact(shape.ptr()) && !PyList_CheckExact(shape.ptr())) return -1;
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(shape.ptr());
    if (n > kMaxDims) return -1;
    for (Py_ssize_t d = 0; d < n; ++d) {
        PyObject* size = PySequence_Fast_GET_ITEM(shape.ptr(), d);
        if (!PyLong_CheckExact(size)) return -1;
        int overflow = 0;
        sizes[d] = PyLong_AsLongLongAndOverflow(size, &overflow);
        if (overflow || sizes[d] < 0) return -1;
    }
    return (int)n;
}

nb::object fast_zeros_nd(int op, nb::handle indices, nb::handle updates, nb::handle shape, int bounds, bool wrap, int allowed) {
    i64 sizes[kMaxDims];
    Array given;
    const int ndim = sizes_of(shape, sizes);
    if (ndim < 1 || !is_plain(updates, given)) return nb::none();
    bool cleared;
    nb::object out = nb::steal(new_array(ndim, sizes, given, &cleared));
    if (!out.is_valid()) return nb::none();
    const Array zeros = array_in(out);
    if (!cleared) without_gil(zeros.bytes(), [&] { clear(zeros.data(), zeros.bytes()); return 0; });
    if ( !fast_nd(op, out, indices, updates, bounds, wrap, allowed)) return nb::none();
    return out;
}

// ---- gathers --------------------------------------------------------------------------------------------------------------

// out[..., :] = data[index] with the first `depth` dimensions of data addressed, and `lead` dimensions of indices counting.
nb::object gathered(const Array& data, const Array& indices, int lead, int depth, Bounds bounds, bool wrap, bool tuples) {
    const int row = data.ndim() - depth;
    if (lead + row > kMaxDims) return nb::none();
    i64 shape[kMaxDims];
    std::copy_n(indices.shape(), lead, shape);
    std::copy_n(data.shape() + depth, row, shape + lead);
    nb::object out = nb::steal(new_array(lead + row, shape, data));
    if (!out.is_valid()) return nb::none();
    const i64 width = product(data.shape(), depth, data.ndim()) * data.itemsize();
    char* target = array_in(out).data();
    const i64 bytes = indices.bytes() + 2 * array_in(out).bytes();
    bool done;
    if (tuples) {
        FlatIds flat(indices, data.shape(), bounds, wrap);
        done = without_gil(bytes, [&] {
            return flat.flatten() && !gather_rows({data.data(), width, flat.ids(), flat.range(), target});
        });
    } else {
        const Range range{data.shape()[0], bounds, wrap};
        done = without_gil(bytes, [&] { return !gather_rows({data.data(), width, ids_in(indices), range, target}); });
    }
    return done ? out : nb::none();
}

nb::object fast_gather(nb::handle data_, nb::handle indices_, int bounds, bool wrap, int allowed) {
    Array data, indices;
    if (!is_bounds(bounds) || !is_plain(data_, data) || !is_index(indices_, indices, allowed) || data.ndim() < 1) return nb::none();
    return gathered(data, indices, indices.ndim(), 1, (Bounds)bounds, wrap, false);
}

nb::object fast_gather_nd(nb::handle data_, nb::handle indices_, int bounds, bool wrap, int allowed) {
    Array data, indices;
    if (!is_bounds(bounds) || !is_plain(data_, data) || !is_index(indices_, indices, allowed)) return nb::none();
    if (!is_tuples(indices, data)) return nb::none();
    const int lead = indices.ndim() - 1;
    return gathered(data, indices, lead, (int)indices.shape()[lead], (Bounds)bounds, wrap, true);
}

}  // namespace

void bind_fast(nb::module_& m) {
    using namespace nb::literals;
    // None is for the general path to refuse, too.
    m.def("fast_rows", &fast_rows, "op"_a, "data"_a, "indices"_a.none(), "updates"_a.none(), "bounds"_a);
    m.def("fast_nd", &fast_nd, "op"_a, "data"_a, "indices"_a.none(), "updates"_a.none(), "bounds"_a, "wrap"_a, "allowed"_a);
    m.def("fast_copy_nd", &fast_copy_nd, "op"_a, "data"_a.none(), "indices"_a.none(), "updates"_a.none(), "bounds"_a, "wrap"_a,
          "allowed"_a);
    m.def("fast_copy_elements", &fast_copy_elements, "op"_a, "data"_a.none(), "indices"_a.none(), "updates"_a.none(), "axis"_a,
          "bounds"_a, "wrap"_a, "allowed"_a);
    m.def("fast_zeros_nd", &fast_zeros_nd, "op"_a, "indices"_a.none(), "updates"_a.none(), "shape"_a.none(), "bounds"_a, "wrap"_a,
          "allowed"_a);
    m.def("fast_gather", &fast_gather, "data"_a, "indices"_a.none(), "bounds"_a, "wrap"_a, "allowed"_a);
    m.def("fast_gather_nd", &fast_gather_nd, "data"_a, "indices"_a.none(), "bounds"_a, "wrap"_a, "allowed"_a);
}

}  // namespace ps
