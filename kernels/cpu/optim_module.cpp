// The optimizers' part of paramstore._cpu.
#include "optim_module.h"

#include <memory>
#include <string>

#include "arrays.h"
#include "gil.h"
#include "optim_plan.h"

namespace ps {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw nb::value_error(("_cpu: " + why).c_str()); }

Array require_double(nb::handle object, const char* argument, int ndim) {
    const Array array = readable(object, argument);
    if (PyArray_TYPE(array.object) != NPY_DOUBLE) refuse(std::string(argument) + " is not float64");
    require_ndim(array, argument, ndim);
    return array;
}

// The state in the order of optim.def: arrays of the table's shape, then arrays with one number a row.
void take_state(nb::tuple state, const Array& data, const OptimInfo& info, int wide, OptimCall& call) {
    if ((int)state.size() != info.cells + info.rows) refuse(std::string("state is not what ") + info.name + " has");
    for (int k = 0; k < info.cells + info.rows; ++k) {
        const Array array = writable(state[k], "state");
        require_itemsize(array, "state", wide);
        require_ndim(array, "state", k < info.cells ? 2 : 1);
        require_extent(array, "state", 0, data.shape()[0]);
        if (k < info.cells) require_extent(array, "state", 1, data.shape()[1]);
        require_apart(data, "data", array, "state");
        call.step.state[k] = array.data();
    }
}

// rule and dtype are codes of OPTIMS and DTYPES. varying: (steps, scalars) for the steps first .. step; last: the step each row has
// seen, or None where rows without a gradient stay; updates None: rows are only brought up to `step`.
nb::object step_rows_(int rule, int dtype, nb::handle data_, nb::tuple state, nb::handle last_, nb::handle ids_, nb::handle updates_,
                      nb::handle varying_, nb::handle constants_, i64 first, i64 step, i64 padding, double max_norm, double most) {
    if (rule < 0 || rule >= kOptims || dtype < 0 || dtype >= kDtypes) refuse("rule or dtype is no code");
    const OptimInfo& info = kOptimInfo[rule];
    const int wide = optim_hot().type[dtype].wide;
    if (!wide) throw nb::type_error("_cpu: optimizers are for real dtypes");
    const Array data = writable(data_, "data");
    require_itemsize(data, "data", kDtypeInfo[dtype].itemsize);
    require_ndim(data, "data", 2);
    OptimCall call{};
    call.rule = rule;
    call.dtype = dtype;
    call.step = {data.data(), data.shape()[0], data.shape()[1], {}, nullptr, nullptr, nullptr, first, step, nullptr, padding, max_norm, most};
    take_state(state, data, info, wide, call);

    const Array varying = require_double(varying_, "varying", 2), constants = require_double(constants_, "constants", 1);
    require_extent(varying, "varying", 1, info.varying);
    require_extent(constants, "constants", 0, info.constants);
    if (first < 0 || step < first || varying.shape()[0] != step - first + 1) refuse("varying is not for the steps first .. step");
    call.step.varying = reinterpret_cast<const double*>(varying.data());
    call.step.constants = reinterpret_cast<const double*>(constants.data());

    if (!last_.is_none()) {
        if (rule != optim_code_adam) refuse("only adam brings rows up to date");
        const Array last = writable(last_, "last");
        if (!as_ids(last, "last").wide) refuse("last is not int64");
        require_ndim(last, "last", 1);
        require_extent(last, "last", 0, data.shape()[0]);
        call.step.last = reinterpret_cast<i64*>(last.data());
    }
    call.has_ids = !ids_.is_none();
    i64 n = data.shape()[0];
    if (call.has_ids) {
        const Array ids = readable(ids_, "ids");
        require_ndim(ids, "ids", 1);
        require_apart(data, "data", ids, "ids");
        call.ids = as_ids(ids, "ids");
        n = call.ids.n;
    }
    if (!updates_.is_none()) {
        const Array updates = readable(updates_, "updates");
        require_itemsize(updates, "updates", kDtypeInfo[dtype].itemsize);
        require_ndim(updates, "updates", 2);
        require_extent(updates, "updates", 0, n);
        require_extent(updates, "updates", 1, data.shape()[1]);
        require_apart(data, "data", updates, "updates");
        call.step.updates = updates.data();
    } else if (!call.step.last) {
        refuse("updates is None where no row is brought up to date");
    }
    return as_result(without_gil(call.bytes(), [&] { return step_rows(call); }));
}

// (ids, sums), or a fault.
nb::object coalesce_(int dtype, nb::handle ids_, nb::handle values_, i64 size) {
    if (dtype < 0 || dtype >= kDtypes || !optim_hot().slice[dtype].factor) refuse("dtype is no code, or without addition");
    const SliceType& type = optim_hot().slice[dtype];
    const Array ids = readable(ids_, "ids"), values = readable(values_, "values");
    require_ndim(ids, "ids", 1);
    require_ndim(values, "values", 2);
    require_itemsize(values, "values", kDtypeInfo[dtype].itemsize);
    require_extent(values, "values", 0, ids.shape()[0]);
    if (size < 0) refuse("size is negative");
    const Ids given = as_ids(ids, "ids");
    const i64 bytes = ids.bytes() + values.bytes();
    const auto plan = without_gil(bytes, [&] {
        return std::make_unique<Coalesce>(type, given, size, values.shape()[1], values.itemsize());
    });
    if (plan->fault) return as_result(plan->fault);

    npy_intp shape[2] = {(npy_intp)plan->rows(), (npy_intp)values.shape()[1]};
    const nb::object unique = nb::steal(PyArray_SimpleNew(1, shape, given.wide ? NPY_INT64 : NPY_INT32));
    if (!unique.is_valid()) throw nb::python_error();
    PyArray_Descr* descr = PyArray_DESCR(values.object);
    Py_INCREF(descr);
    const nb::object sums = nb::steal(PyArray_NewFromDescr(&PyArray_Type, descr, 2, shape, nullptr, nullptr, 0, nullptr));
    if (!sums.is_valid()) throw nb::python_error();
    char* const to = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(unique.ptr()));
    char* const out = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(sums.ptr()));
    without_gil(bytes, [&] { plan->write(values.data(), given.wide, to, out); });
    return nb::make_tuple(unique, sums);
}

}  // namespace

void define_optim(nb::module_& m) {
    using namespace nb::literals;
    nb::list rules, cells, slices;
    for (const OptimInfo& info : kOptimInfo) rules.append(info.name);
    for (int dtype = 0; dtype < kDtypes; ++dtype) {
        if (optim_hot().type[dtype].wide) cells.append(kDtypeInfo[dtype].name);
        if (optim_hot().slice[dtype].factor) slices.append(kDtypeInfo[dtype].name);
    }
    m.attr("OPTIMS") = nb::tuple(rules);
    m.attr("OPTIM_DTYPES") = nb::tuple(cells);
    m.attr("SLICE_DTYPES") = nb::tuple(slices);
    m.def("step_rows", &step_rows_, "rule"_a, "dtype"_a, "data"_a, "state"_a, "last"_a.none(), "ids"_a.none(), "updates"_a.none(),
          "varying"_a, "constants"_a, "first"_a, "step"_a, "padding"_a, "max_norm"_a, "most"_a);
    m.def("coalesce", &coalesce_, "dtype"_a, "ids"_a, "values"_a, "size"_a);
}

}  // namespace ps
