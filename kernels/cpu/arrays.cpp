#include "arrays.h"

#include <cstring>
#include <string>

#include "hot.h"

namespace ps {
namespace {

// NumPy numbers types by their C name: int64 is NPY_LONG and NPY_LONGLONG.
struct Codes {
    int of[NPY_CDOUBLE + 1];
    Codes() {
        for (int& code : of) code = -1;
        const int integers[] = {NPY_BYTE, NPY_SHORT, NPY_INT, NPY_LONG, NPY_LONGLONG};
        const int unsigneds[] = {NPY_UBYTE, NPY_USHORT, NPY_UINT, NPY_ULONG, NPY_ULONGLONG};
        const int sizes[] = {1, sizeof(short), sizeof(int), sizeof(long), sizeof(long long)};
        for (int i = 0; i < 5; ++i) {
            int log2 = 0;
            while (1 << log2 < sizes[i]) ++log2;
            of[integers[i]] = dtype_code_int8 + log2;
            of[unsigneds[i]] = dtype_code_uint8 + log2;
        }
        of[NPY_BOOL] = dtype_code_bool;
        of[NPY_FLOAT] = dtype_code_float32;
        of[NPY_DOUBLE] = dtype_code_float64;
        of[NPY_CFLOAT] = dtype_code_complex64;
        of[NPY_CDOUBLE] = dtype_code_complex128;
    }
};
const Codes g_codes;

PyObject* g_index = nullptr;  // the fault kinds, as Python spells them
PyObject* g_zero = nullptr;

[[noreturn]] void refuse_type(const char* argument, const std::string& why) {
    throw nb::type_error((std::string("_cpu: ") + argument + " " + why).c_str());
}

[[noreturn]] void refuse_value(const char* argument, const std::string& why) {
    throw nb::value_error((std::string("_cpu: ") + argument + " " + why).c_str());
}

}  // namespace

Array readable(nb::handle object, const char* argument) {
    if (!PyArray_Check(object.ptr())) refuse_type(argument, "is not an ndarray");
    const Array array{reinterpret_cast<PyArrayObject*>(object.ptr())};
    if (PyDataType_REFCHK(PyArray_DESCR(array.object))) refuse_type(argument, "holds Python objects");
    if (!PyArray_ISNOTSWAPPED(array.object)) refuse_value(argument, "is byte-swapped");
    if (!PyArray_IS_C_CONTIGUOUS(array.object)) refuse_value(argument, "is not C-contiguous");
    if (!PyArray_ISALIGNED(array.object)) refuse_value(argument, "is not aligned");
    return array;
}

Array writable(nb::handle object, const char* argument) {
    const Array array = readable(object, argument);
    if (!PyArray_ISWRITEABLE(array.object)) refuse_value(argument, "is read-only");
    return array;
}

Ids as_ids(const Array& array, const char* argument) {
    const int type = PyArray_TYPE(array.object);
    const i64 itemsize = array.itemsize();
    if (!PyTypeNum_ISSIGNED(type) || !PyTypeNum_ISINTEGER(type) || (itemsize != 4 && itemsize != 8))
        refuse_type(argument, "is neither int32 nor int64");
    return {array.data(), itemsize == 8, array.size()};
}

void require_itemsize(const Array& array, const char* argument, i64 itemsize) {
    if (array.itemsize() != itemsize)
        refuse_type(argument, "has items of " + std::to_string(array.itemsize()) + " bytes, not " +
                                  std::to_string(itemsize));
}

void require_ndim(const Array& array, const char* argument, int ndim) {
    if (array.ndim() != ndim)
        refuse_value(argument, "has " + std::to_string(array.ndim()) + " dimensions, not " + std::to_string(ndim));
}

void require_extent(const Array& array, const char* argument, int dim, i64 extent) {
    if (array.shape()[dim] != extent)
        refuse_value(argument, "has extent " + std::to_string(array.shape()[dim]) + " in dimension " +
                                   std::to_string(dim) + ", not " + std::to_string(extent));
}

bool overlap(const Array& a, const Array& b) {
    const char *a_end = a.data() + a.bytes(), *b_end = b.data() + b.bytes();
    return a.data() < b_end && b.data() < a_end && a.data() != a_end && b.data() != b_end;
}

void require_apart(const Array& written, const char* argument, const Array& read, const char* other) {
    if (overlap(written, read)) refuse_value(argument, std::string("overlaps ") + other);
}

Bounds as_bounds(int bounds) {
    if (bounds < kRaise || bounds > kClip) refuse_value("bounds", "is none of 0 (raise), 1 (drop), 2 (clip)");
    return (Bounds)bounds;
}

int as_op(nb::handle op) {
    if (PyLong_Check(op.ptr())) {
        const long code = PyLong_AsLong(op.ptr());
        if (code == -1 && PyErr_Occurred()) throw nb::python_error();
        if (code >= 0 && code < kOps) return (int)code;
    } else if (PyUnicode_Check(op.ptr())) {
        for (int i = 0; i < kOps; ++i)
            if (!PyUnicode_CompareWithASCIIString(op.ptr(), kOpInfo[i].name)) return i;
    } else {
        refuse_type("op", "is neither a code nor a name");
    }
    refuse_value("op", "is no operator of OPS");
}

int as_dtype(int dtype) {
    if (dtype < -1 || dtype >= kDtypes) refuse_value("dtype", "is no code of DTYPES, nor -1");
    return dtype < 0 ? kRaw : dtype;
}

int dtype_of(const Array& array) {
    const int type = PyArray_TYPE(array.object);
    if (type == NPY_HALF) return dtype_code_float16;  // numbered far behind the others
    return type >= 0 && type <= NPY_CDOUBLE ? g_codes.of[type] : -1;
}

nb::object as_result(const Fault& fault) {
    if (!fault) return nb::none();
    return nb::make_tuple(nb::handle(fault.kind == Fault::kIndex ? g_index : g_zero), fault.position, fault.value);
}

void init_arrays() {
    g_index = PyUnicode_InternFromString("index");
    g_zero = PyUnicode_InternFromString("zero");
    if (!g_index || !g_zero) throw nb::python_error();
}

}  // namespace ps
