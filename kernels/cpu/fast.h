// The short cuts that paramstore/shortcuts.py calls.
#pragma once
#include <nanobind/nanobind.h>

namespace ps {

void bind_fast(nanobind::module_& m);

}  // namespace ps
