// Memory for large results.
#pragma once
#include "arrays.h"

namespace ps {

// A new array of the dtype of `like`, which is a number type; nullptr, with no Python error set, where memory does not hold it.
// Uninitialized, unless *cleared says that it is all zeros, as asked for.
PyObject* new_array(int ndim, const i64* shape, const Array& like, bool* cleared = nullptr);

void init_memory();

}  // namespace ps
