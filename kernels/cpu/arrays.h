// What the CPU backend asks of a NumPy array before it touches its memory. paramstore/normalize.py has normalised and
// explained everything by then: these checks keep a wrong call from reading or writing where it must not (C8).
#pragma once
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL paramstore_numpy_api
#ifndef PS_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>

#include "types.h"

namespace ps {

namespace nb = nanobind;
static_assert(sizeof(npy_intp) == sizeof(i64), "a 64-bit system is needed");

struct Array {
    PyArrayObject* object;
    char* data() const { return PyArray_BYTES(object); }
    int ndim() const { return PyArray_NDIM(object); }
    const i64* shape() const { return reinterpret_cast<const i64*>(PyArray_DIMS(object)); }
    i64 itemsize() const { return PyArray_ITEMSIZE(object); }
    i64 size() const { return PyArray_SIZE(object); }
    i64 bytes() const { return size() * itemsize(); }
};

// An ndarray, C-contiguous, aligned, in native byte order, without Python objects; TypeError or ValueError otherwise.
Array readable(nb::handle object, const char* argument);
Array writable(nb::handle object, const char* argument);
Ids as_ids(const Array& array, const char* argument);  // int32 or int64

void require_itemsize(const Array& array, const char* argument, i64 itemsize);
void require_ndim(const Array& array, const char* argument, int ndim);
void require_extent(const Array& array, const char* argument, int dim, i64 extent);
void require_apart(const Array& written, const char* argument, const Array& read, const char* other);
bool overlap(const Array& a, const Array& b);

Bounds as_bounds(int bounds);
int as_op(nb::handle op);  // a code or a name
int as_dtype(int dtype);   // a code, or kRaw for -1

// The dtype code of a built-in NumPy number type, or -1.
int dtype_of(const Array& array);

// None, or a tuple (kind, position, value).
nb::object as_result(const Fault& fault);

void init_arrays();

}  // namespace ps
