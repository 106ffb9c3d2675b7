// An element type has one row: how NumPy or ml_dtypes names it, and the integer that holds its bits where
// neither is there: the one field of a structure, which bears the type's name, so that nobody takes bits for
// numbers. An array becomes a tensor that adopts its memory; the tensor's owner is the Python object, whose
// count falls under the interpreter's lock wherever the last tensor dies. A tensor becomes an array whose
// base is a capsule with a copy of the tensor, which shares the memory: the engine sees that somebody holds
// it and takes other memory next time.
#include "executor/python/arrays.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "ir/zero_tensor.h"

namespace podium::python {
namespace {

namespace py = pybind11;
using ir::DataType;
using ir::Datum;
using ir::Tensor;

struct Named {
  DataType type;
  const char* name;
  const char* bits = nullptr;  ///< absent: NumPy itself has the type
};

constexpr std::array kNames{
    Named{DataType::Float, "float32"},
    Named{DataType::Double, "float64"},
    Named{DataType::Float16, "float16"},
    Named{DataType::Int8, "int8"},
    Named{DataType::Int16, "int16"},
    Named{DataType::Int32, "int32"},
    Named{DataType::Int64, "int64"},
    Named{DataType::Uint8, "uint8"},
    Named{DataType::Uint16, "uint16"},
    Named{DataType::Uint32, "uint32"},
    Named{DataType::Uint64, "uint64"},
    Named{DataType::Bool, "bool"},
    Named{DataType::Complex64, "complex64"},
    Named{DataType::Complex128, "complex128"},
    Named{DataType::String, "object"},
    Named{DataType::Bfloat16, "bfloat16", "uint16"},
    Named{DataType::Float8E4M3FN, "float8_e4m3fn", "uint8"},
    Named{DataType::Float8E4M3FNUZ, "float8_e4m3fnuz", "uint8"},
    Named{DataType::Float8E5M2, "float8_e5m2", "uint8"},
    Named{DataType::Float8E5M2FNUZ, "float8_e5m2fnuz", "uint8"},
    Named{DataType::Float8E8M0, "float8_e8m0fnu", "uint8"},
    Named{DataType::Float6E2M3, "float6_e2m3fn", "uint8"},
    Named{DataType::Float6E3M2, "float6_e3m2fn", "uint8"},
    Named{DataType::Float4E2M1, "float4_e2m1fn", "uint8"},
    Named{DataType::Int4, "int4", "int8"},
    Named{DataType::Uint4, "uint4", "uint8"},
    Named{DataType::Int2, "int2", "int8"},
    Named{DataType::Uint2, "uint2", "uint8"},
};

const Named& row_of(DataType type) {
  for (const Named& row : kNames) {
    if (row.type == type) return row;
  }
  throw Error("elements of type {} found, which Python has no array of", name_of(type));
}

std::string text_of(const py::handle& object) { return py::str(object).cast<std::string>(); }

// A structure of one field.
py::dtype bits_of(const Named& row) {
  py::list fields;
  fields.append(py::make_tuple(row.name, row.bits));
  return py::dtype::from_args(fields);
}

// NumPy's own types by kind and size, those of ml_dtypes by name, bits as structures. Undefined for one that
// no tensor has.
DataType type_of(const py::dtype& dtype) {
  const char kind = dtype.kind();
  const auto bytes = dtype.itemsize();
  const auto sized = [&](std::initializer_list<DataType> types) {
    for (DataType type : types) {
      if (static_cast<py::ssize_t>(ir::storage_bytes(type)) == bytes) return type;
    }
    return DataType::Undefined;
  };
  switch (kind) {
    case 'f':
      // The long double has 16 bytes; ml_dtypes has narrow floats of this kind, too.
      if (bytes > 1) break;
      [[fallthrough]];
    case 'V': {
      const auto name = text_of(dtype.attr("name"));
      for (const Named& row : kNames) {
        if (row.bits != nullptr && (name == row.name || dtype.equal(bits_of(row)))) return row.type;
      }
      return DataType::Undefined;
    }
    case 'b':
      return DataType::Bool;
    case 'i':
      return sized({DataType::Int8, DataType::Int16, DataType::Int32, DataType::Int64});
    case 'u':
      return sized({DataType::Uint8, DataType::Uint16, DataType::Uint32, DataType::Uint64});
    case 'c':
      return sized({DataType::Complex64, DataType::Complex128});
    case 'O':
    case 'U':
    case 'S':
      return DataType::String;
    default:
      return DataType::Undefined;
  }
  return sized({DataType::Float16, DataType::Float, DataType::Double});
}

ir::Dims dims_of(const py::array& array) { return {array.shape(), array.shape() + array.ndim()}; }

// The count of a Python object falls under the interpreter's lock; once there is no interpreter, nobody
// counts.
std::shared_ptr<const void> keep(const py::object& object) {
  return {object.inc_ref().ptr(), [](const void* kept) {
            if (!Py_IsInitialized()) return;
            const py::gil_scoped_acquire lock;
            py::handle(static_cast<PyObject*>(const_cast<void*>(kept))).dec_ref();
          }};
}

Tensor strings_of(const py::array& array) {
  Tensor tensor(DataType::String, dims_of(array));
  std::string* out = tensor.data<std::string>();
  for (const py::handle item : array.attr("flat")) {
    if (!py::isinstance<py::str>(item) && !py::isinstance<py::bytes>(item)) {
      throw Error("an array of objects found with a {} in it, strings needed",
                  text_of(py::type::of(item).attr("__name__")));
    }
    *out++ = item.cast<std::string>();
  }
  return tensor;
}

py::array array_of(const py::handle& object) {
  py::array array = py::array::ensure(object);
  if (!array) {
    PyErr_Clear();
    throw Error("{} found, an array needed", text_of(py::type::of(object).attr("__name__")));
  }
  return array;
}

// Row-major, aligned, in the order of bytes of this machine.
py::array plain(py::array array) {
  static_assert(std::endian::native == std::endian::little);
  constexpr int kAligned = 0x0100;  // NPY_ARRAY_ALIGNED
  const int needed = py::array::c_style | kAligned;
  const bool is_swapped = text_of(array.dtype().attr("byteorder")) == ">";
  if (is_swapped) array = array.attr("astype")(array.dtype().attr("newbyteorder")("="));
  if ((array.flags() & needed) == needed) return array;
  return array.attr("copy")("C");
}

Tensor tensor_of_array(const py::array& array) {
  const DataType type = type_of(array.dtype());
  if (type == DataType::Undefined)
    throw Error("an array of {} found, which no tensor has", text_of(array.dtype()));
  if (type == DataType::String) return strings_of(array);
  const py::array flat = plain(array);
  return Tensor::adopt(type, dims_of(flat), flat.data(), keep(flat));
}

// Bits in an integer where the input asks for a type that NumPy lacks.
Tensor with_bits_read(Tensor tensor, DataType wanted) {
  if (wanted == DataType::Undefined || wanted == tensor.type()) return tensor;
  const char* bits = row_of(wanted).bits;
  const bool holds_bits = bits != nullptr && row_of(tensor.type()).name == std::string_view(bits);
  return holds_bits ? tensor.reinterpreted(wanted) : tensor;
}

Datum map_of(const py::handle& object, const ir::Type& wanted) {
  if (!py::isinstance<py::dict>(object))
    throw Error("{} found, a dict needed", text_of(py::type::of(object).attr("__name__")));
  const auto dict = py::reinterpret_borrow<py::dict>(object);
  const auto column = [&](const char* which, DataType type) {
    const py::list items(dict.attr(which)());
    const py::object dtype = py::dtype(row_of(type).name);
    return tensor_of_array(py::module_::import("numpy").attr("array")(items, dtype));
  };
  return Datum::map(column("keys", wanted.element), column("values", wanted.inner->element));
}

// Of ml_dtypes where it is there, else the structure with the bits.
py::dtype dtype_of(DataType type) {
  const Named& row = row_of(type);
  if (row.bits == nullptr) return py::dtype(row.name);
  try {
    return py::dtype::from_args(py::module_::import("ml_dtypes").attr(row.name));
  } catch (const py::error_already_set&) {
    return bits_of(row);
  }
}

py::object array_of_strings(const Tensor& tensor) {
  py::array array(py::dtype("O"), tensor.dims());
  auto** out = static_cast<PyObject**>(array.mutable_data());
  for (const std::string& text : tensor.values<std::string>()) {
    PyObject* made = PyUnicode_DecodeUTF8(text.data(), std::ssize(text), "surrogateescape");
    if (made == nullptr) throw py::error_already_set();
    Py_XDECREF(*out);
    *out++ = made;
  }
  return array;
}

bool lies_in(const Tensor& tensor, const Datum& datum) {
  if (!datum.is_tensor()) {
    if (!datum.items) return false;
    for (const Datum& item : *datum.items) {
      if (lies_in(tensor, item)) return true;
    }
    return false;
  }
  const auto* start = static_cast<const std::byte*>(datum.tensor.raw());
  const auto* at = static_cast<const std::byte*>(tensor.raw());
  return at >= start && at < start + datum.tensor.bytes();
}

py::object array_of_tensor(Tensor tensor, std::span<const Datum> inputs) {
  if (tensor.type() == DataType::String) return array_of_strings(tensor);
  for (const Datum& input : inputs) {
    if (!lies_in(tensor, input)) continue;
    tensor = tensor.clone();
    break;
  }
  // Whoever gets an array may write to it.
  if (!tensor.keeps_memory() || ir::takes_no_memory(tensor)) tensor = tensor.clone();
  auto held = std::make_unique<Tensor>(std::move(tensor));
  const Tensor& kept = *held;
  const py::capsule base(held.release(), [](void* memory) { delete static_cast<Tensor*>(memory); });
  return py::array(dtype_of(kept.type()), kept.dims(), kept.raw(), base);
}

}  // namespace

Datum datum_of(py::handle object, const ir::Type& wanted) {
  switch (wanted.kind) {
    case ir::Kind::Optional:
      return object.is_none() ? Datum() : datum_of(object, *wanted.inner);
    case ir::Kind::Map:
      return map_of(object, wanted);
    case ir::Kind::Sequence: {
      if (!py::isinstance<py::list>(object) && !py::isinstance<py::tuple>(object))
        throw Error("{} found, a list needed", text_of(py::type::of(object).attr("__name__")));
      std::vector<Datum> items;
      for (const py::handle item : object) items.push_back(datum_of(item, *wanted.inner));
      return Datum::sequence(std::move(items));
    }
    case ir::Kind::Tensor:
      break;
  }
  return with_bits_read(tensor_of_array(array_of(object)), wanted.element);
}

Tensor tensor_of(py::handle object) { return tensor_of_array(array_of(object)); }

py::object object_of(const Datum& datum, std::span<const Datum> inputs) {
  switch (datum.holds) {
    case Datum::Holds::Nothing:
      return py::none();
    case Datum::Holds::Tensor:
      return array_of_tensor(datum.tensor, inputs);
    case Datum::Holds::Sequence: {
      py::list list;
      for (const Datum& item : *datum.items) list.append(object_of(item, inputs));
      return list;
    }
    case Datum::Holds::Map:
      break;
  }
  py::dict dict;
  const py::list keys = object_of((*datum.items)[0], inputs).attr("tolist")();
  const py::list values = object_of((*datum.items)[1], inputs).attr("tolist")();
  for (std::size_t i = 0; i < keys.size(); ++i) dict[keys[i]] = values[i];
  return dict;
}

std::string dtype_name(DataType type) { return row_of(type).name; }

std::string bits_name(DataType type) {
  const char* bits = row_of(type).bits;
  return bits == nullptr ? "" : bits;
}

}  // namespace podium::python
