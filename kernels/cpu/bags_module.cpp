// paramstore._cpu.reduce_bags: see bags.h.
#include <string>

#include "arrays.h"
#include "bags.h"
#include "gil.h"
#include "hot.h"

namespace ps {
namespace {

nb::object reduce_bags_(int mode, int dtype, nb::handle data_, nb::handle ids_, nb::handle bags_, nb::handle weights_,
                        nb::handle out_, nb::handle winners_, int bounds, nb::handle missing_) {
    if (mode < 0 || mode >= kBagModes) throw nb::value_error("_cpu: mode is none of 0 (sum), 1 (mean), 2 (max)");
    if (dtype < 0 || dtype >= kDtypes) throw nb::value_error("_cpu: dtype is no code of DTYPES");
    const BagFn bags = bag_table().bags[mode][dtype];
    if (!bags) throw nb::type_error((std::string("_cpu: there are no bags of ") + kDtypeInfo[dtype].name).c_str());
    const Array data = readable(data_, "data"), ids = readable(ids_, "ids"), out = writable(out_, "out");
    const i64 item = kDtypeInfo[dtype].itemsize;
    for (const auto& [array, name] : {std::pair{data, "data"}, std::pair{out, "out"}}) {
        require_itemsize(array, name, item);
        require_ndim(array, name, 2);
    }
    require_ndim(ids, "ids", 1);
    require_extent(out, "out", 1, data.shape()[1]);
    require_apart(out, "out", data, "data");
    require_apart(out, "out", ids, "ids");

    const i64 count = out.shape()[0], width = data.shape()[1];
    BagCall call{};
    call.data = data.data();
    call.stride = call.width = width;
    call.ids = as_ids(ids, "ids");
    call.range = {data.shape()[0], as_bounds(bounds), false};
    call.has_missing = !missing_.is_none();
    call.missing = call.has_missing ? nb::cast<i64>(missing_) : -1;
    call.bags = count;
    call.out = out.data();
    call.item = (int)item;
    if (PyLong_Check(bags_.ptr())) {
        call.length = nb::cast<i64>(bags_);
        if (call.length < 0 || (count && call.length > call.ids.n / count))
            throw nb::value_error("_cpu: the bags are longer than ids");
    } else {
        const Array offsets = readable(bags_, "offsets");
        require_ndim(offsets, "offsets", 1);
        require_extent(offsets, "offsets", 0, count + 1);
        if (!as_ids(offsets, "offsets").wide) throw nb::type_error("_cpu: offsets is not int64");
        require_apart(out, "out", offsets, "offsets");
        call.offsets = reinterpret_cast<const i64*>(offsets.data());
    }
    if (!weights_.is_none()) {
        const Array weights = readable(weights_, "weights");
        require_itemsize(weights, "weights", item);
        require_ndim(weights, "weights", 1);
        require_extent(weights, "weights", 0, call.ids.n);
        require_apart(out, "out", weights, "weights");
        if (mode != kBagSum) throw nb::value_error("_cpu: weights are for sums");
        call.weights = weights.data();
    }
    if (!winners_.is_none()) {
        const Array winners = writable(winners_, "winners");
        require_ndim(winners, "winners", 2);
        require_extent(winners, "winners", 0, count);
        require_extent(winners, "winners", 1, width);
        if (!as_ids(winners, "winners").wide) throw nb::type_error("_cpu: winners is not int64");
        for (const Array& other : {data, ids, out}) require_apart(winners, "winners", other, "another array");
        if (mode == kBagMax) call.winners = reinterpret_cast<i64*>(winners.data());
    }
    return as_result(without_gil(call.bytes(), [&] { return reduce_bags(call, bags); }));
}

}  // namespace

void register_bags(nb::module_& m) {
    using namespace nb::literals;
    m.def("bag_cells", [] {
        nb::list cells;
        for (int dtype = 0; dtype < kDtypes; ++dtype)
            if (bag_table().bags[kBagSum][dtype]) cells.append(kDtypeInfo[dtype].name);
        return cells;
    });
    m.def("reduce_bags", &reduce_bags_, "mode"_a, "dtype"_a, "data"_a, "ids"_a, "bags"_a, "weights"_a.none(), "out"_a,
          "winners"_a.none(), "bounds"_a, "missing"_a.none());
}

}  // namespace ps
