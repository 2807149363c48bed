// paramstore._cpu: the CPU kernels, as functions of ndarrays. See scatter.h for what they compute.
#define PS_IMPORTS_NUMPY
#include <string>

#include "arrays.h"
#include "bags.h"
#include "check.h"
#include "fast.h"
#include "gil.h"
#include "memory.h"
#include "optim_module.h"
#include "plan.h"
#include "pool.h"
#include "scatter.h"

namespace ps {
namespace {

Cell find_cell(int op, int dtype, i64 itemsize) {
    Cell cell = hot().op[op].cell[dtype];
    if (!cell.apply)
        throw nb::type_error((std::string("_cpu: there is no ") + kOpInfo[op].name + " for " +
                              (dtype == kRaw ? "raw bytes" : kDtypeInfo[dtype].name)).c_str());
    if (dtype == kRaw) cell.factor = (int)itemsize;
    return cell;
}

bool must_check_zero(int op, int dtype) {
    return kOpInfo[op].refuses_zero && dtype != kRaw && kDtypeInfo[dtype].integer;
}

void require_dtype(const Array& array, const char* argument, int dtype, i64 itemsize) {
    require_itemsize(array, argument, dtype == kRaw ? itemsize : kDtypeInfo[dtype].itemsize);
}

nb::object scatter_rows_(nb::handle op_, int dtype_, nb::handle data_, nb::handle ids_, nb::handle updates_,
                         int bounds, bool wrap) {
    const int op = as_op(op_), dtype = as_dtype(dtype_);
    const Array data = writable(data_, "data"), ids = readable(ids_, "ids"), updates = readable(updates_, "updates");
    require_dtype(data, "data", dtype, data.itemsize());
    require_dtype(updates, "updates", dtype, data.itemsize());
    require_ndim(data, "data", 2);
    require_ndim(ids, "ids", 1);
    require_ndim(updates, "updates", 2);
    require_extent(updates, "updates", 0, ids.shape()[0]);
    require_extent(updates, "updates", 1, data.shape()[1]);
    require_apart(data, "data", ids, "ids");
    require_apart(data, "data", updates, "updates");

    const Cell cell = find_cell(op, dtype, data.itemsize());
    const RowsCall call{cell, must_check_zero(op, dtype), data.data(), data.shape()[1] * cell.factor,
                        as_ids(ids, "ids"), {data.shape()[0], as_bounds(bounds), wrap}, updates.data()};
    return as_result(without_gil(call.bytes(), [&] { return scatter_rows(call); }));
}

// indices may be shorter than data in every dimension but the axis, and have any extent along it.
Walk walk_of(const Array& data, const Array& indices, const Array& updates, const char* name, int axis) {
    if (data.ndim() == 0) throw nb::value_error("_cpu: data has no dimensions");
    require_ndim(indices, "indices", data.ndim());
    require_ndim(updates, name, data.ndim());
    if (axis < 0 || axis >= data.ndim()) throw nb::value_error("_cpu: axis is no dimension of data");
    for (int d = 0; d < data.ndim(); ++d) {
        require_extent(updates, name, d, indices.shape()[d]);
        if (d != axis && indices.shape()[d] > data.shape()[d])
            throw nb::value_error("_cpu: indices is longer than data in a dimension that is not the axis");
    }
    return make_walk(data.ndim(), axis, data.shape(), indices.shape());
}

nb::object scatter_elements_(nb::handle op_, int dtype_, nb::handle data_, int axis, nb::handle indices_,
                             nb::handle updates_, int bounds, bool wrap) {
    const int op = as_op(op_), dtype = as_dtype(dtype_);
    const Array data = writable(data_, "data"), indices = readable(indices_, "indices");
    const Array updates = readable(updates_, "updates");
    require_dtype(data, "data", dtype, data.itemsize());
    require_dtype(updates, "updates", dtype, data.itemsize());
    const Walk walk = walk_of(data, indices, updates, "updates", axis);
    require_apart(data, "data", indices, "indices");
    require_apart(data, "data", updates, "updates");

    const Cell cell = find_cell(op, dtype, data.itemsize());
    const ElementsCall call{cell, must_check_zero(op, dtype), data.data(), walk, as_ids(indices, "indices"),
                            {data.shape()[axis], as_bounds(bounds), wrap}, updates.data()};
    return as_result(without_gil(call.bytes(), [&] { return scatter_elements(call); }));
}

nb::object gather_rows_(int dtype_, nb::handle data_, nb::handle ids_, nb::handle out_, int bounds, bool wrap) {
    const int dtype = as_dtype(dtype_);
    const Array data = readable(data_, "data"), ids = readable(ids_, "ids"), out = writable(out_, "out");
    require_dtype(data, "data", dtype, data.itemsize());
    require_dtype(out, "out", dtype, data.itemsize());
    require_ndim(data, "data", 2);
    require_ndim(ids, "ids", 1);
    require_ndim(out, "out", 2);
    require_extent(out, "out", 0, ids.shape()[0]);
    require_extent(out, "out", 1, data.shape()[1]);
    require_apart(out, "out", ids, "ids");
    require_apart(out, "out", data, "data");

    const GatherRowsCall call{data.data(), data.shape()[1] * data.itemsize(), as_ids(ids, "ids"),
                              {data.shape()[0], as_bounds(bounds), wrap}, out.data()};
    return as_result(without_gil(call.bytes(), [&] { return gather_rows(call); }));
}

nb::object gather_elements_(int dtype_, nb::handle data_, int axis, nb::handle indices_, nb::handle out_, int bounds,
                            bool wrap) {
    const int dtype = as_dtype(dtype_);
    const Array data = readable(data_, "data"), indices = readable(indices_, "indices"), out = writable(out_, "out");
    require_dtype(data, "data", dtype, data.itemsize());
    require_dtype(out, "out", dtype, data.itemsize());
    const Walk walk = walk_of(data, indices, out, "out", axis);
    require_apart(out, "out", indices, "indices");
    require_apart(out, "out", data, "data");

    const GatherElementsCall call{data.data(), (int)data.itemsize(), walk, as_ids(indices, "indices"),
                                  {data.shape()[axis], as_bounds(bounds), wrap}, out.data()};
    return as_result(without_gil(call.bytes(), [&] { return gather_elements(call); }));
}

nb::object flatten_tuples_(nb::handle indices_, nb::tuple dims_, nb::handle out_, int bounds, bool wrap) {
    const Array indices = readable(indices_, "indices"), out = writable(out_, "out");
    require_ndim(indices, "indices", 2);
    require_ndim(out, "out", 1);
    require_extent(out, "out", 0, indices.shape()[0]);
    if (as_ids(out, "out").wide == false) throw nb::type_error("_cpu: out is not int64");
    require_apart(out, "out", indices, "indices");
    const int k = (int)dims_.size();
    if (k > kMaxDims) throw nb::value_error("_cpu: dims has more than 64 entries");
    require_extent(indices, "indices", 1, k);

    i64 dims[kMaxDims], strides[kMaxDims], items = 1;
    for (int d = k - 1; d >= 0; --d) {
        dims[d] = nb::cast<i64>(dims_[d]);
        strides[d] = items;
        if (dims[d] < 0) throw nb::value_error("_cpu: dims has a negative entry");
        if (__builtin_mul_overflow(items, dims[d], &items))
            throw nb::value_error("_cpu: dims has more items than int64 can count");
    }
    const TuplesCall call{as_ids(indices, "indices"), indices.shape()[0], k, dims, strides, as_bounds(bounds), wrap,
                          reinterpret_cast<i64*>(out.data())};
    return as_result(without_gil(call.bytes(), [&] { return flatten_tuples(call); }));
}

nb::list scatter_cells() {
    nb::list cells;
    for (int op = 0; op < kOps; ++op)
        for (int dtype = 0; dtype < kDtypes; ++dtype)
            if (hot().op[op].cell[dtype].apply)
                cells.append(nb::make_tuple(kOpInfo[op].name, kDtypeInfo[dtype].name));
    return cells;
}

template <class Info, int N> nb::tuple names(const Info (&table)[N]) {
    nb::list list;
    for (const Info& row : table) list.append(row.name);
    return nb::tuple(list);
}

void set_threads(int n) {
    if (n < 1 || n > kMaxThreads)
        throw nb::value_error(("_cpu: n is not in [1, " + std::to_string(kMaxThreads) + "]").c_str());
    set_num_threads(n);
}

}  // namespace
}  // namespace ps

NB_MODULE(_cpu, m) {
    namespace nb = nanobind;
    using namespace nb::literals;
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
    ps::init_arrays();
    ps::register_bags(m);
    ps::init_memory();
    ps::hot();  // an unknown PARAMSTORE_ISA fails here, and not in the first call
    m.attr("OPS") = ps::names(ps::kOpInfo);
    m.attr("DTYPES") = ps::names(ps::kDtypeInfo);
    m.def("scatter_cells", &ps::scatter_cells);
    m.def("gather_cells", [] { return nb::list(ps::names(ps::kDtypeInfo)); });
    m.def("isa", [] { return ps::hot().name; });
    nb::module_::import_("atexit").attr("register")(nb::cpp_function(&ps::wait_for_calls));
    m.def("set_num_threads", &ps::set_threads, "n"_a);
    m.def("get_num_threads", &ps::get_num_threads);
    m.def("force_plan", &ps::force_plan, "kind"_a);  // for tests: the number of a Plan::Kind, or -1
    m.def("set_bytes_per_thread", &ps::set_bytes_per_thread, "bytes"_a);  // for tests
    m.def("scatter_rows", &ps::scatter_rows_, "op"_a, "dtype"_a, "data"_a, "ids"_a, "updates"_a, "bounds"_a, "wrap"_a);
    m.def("scatter_elements", &ps::scatter_elements_, "op"_a, "dtype"_a, "data"_a, "axis"_a, "indices"_a, "updates"_a,
          "bounds"_a, "wrap"_a);
    m.def("gather_rows", &ps::gather_rows_, "dtype"_a, "data"_a, "ids"_a, "out"_a, "bounds"_a, "wrap"_a);
    m.def("gather_elements", &ps::gather_elements_, "dtype"_a, "data"_a, "axis"_a, "indices"_a, "out"_a, "bounds"_a,
          "wrap"_a);
    m.def("flatten_tuples", &ps::flatten_tuples_, "indices"_a, "dims"_a, "out"_a, "bounds"_a, "wrap"_a);
    ps::bind_fast(m);
    ps::define_optim(m);
}
