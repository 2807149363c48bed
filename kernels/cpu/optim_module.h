#pragma once
#include <nanobind/nanobind.h>

namespace ps {
void define_optim(nanobind::module_& m);
}
