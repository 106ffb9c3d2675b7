#include "importer/tensor_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "importer/datum_proto.h"
#include "importer/tensor_proto.h"

namespace podium::importer {

using ir::DataType;
using ir::Dims;
using ir::Tensor;

namespace {

struct NpyType {
  std::string_view code;
  DataType type;
};
constexpr std::array kNpyTypes{
    NpyType{"f4", DataType::Float},   NpyType{"f8", DataType::Double},    NpyType{"f2", DataType::Float16},
    NpyType{"i1", DataType::Int8},    NpyType{"i2", DataType::Int16},     NpyType{"i4", DataType::Int32},
    NpyType{"i8", DataType::Int64},   NpyType{"u1", DataType::Uint8},     NpyType{"u2", DataType::Uint16},
    NpyType{"u4", DataType::Uint32},  NpyType{"u8", DataType::Uint64},    NpyType{"b1", DataType::Bool},
    NpyType{"c8", DataType::Complex64}, NpyType{"c16", DataType::Complex128},
};

std::string read_bytes(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw Error("a folder found, a file needed");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot be opened");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The length is compared with the shape before memory is taken.
Tensor from_bytes(DataType type, Dims dims, std::string_view bytes) {
  const std::int64_t count = ir::element_count(dims);
  if (bytes.size() / storage_bytes(type) != static_cast<std::size_t>(count) ||
      bytes.size() % storage_bytes(type) != 0) {
    throw Error("{} bytes of data found, {} elements of {} needed", bytes.size(), count, name_of(type));
  }
  Tensor tensor(type, std::move(dims));
  if (!bytes.empty()) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  return tensor;
}

// What stands behind 'key': in NumPy's header, a Python dictionary.
std::string_view header_entry(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) throw Error("the header lacks '{}'", key);
  std::string_view rest = header.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

Dims npy_shape(std::string_view header) {
  std::string_view text = header_entry(header, "shape");
  const std::size_t end = text.find(')');
  if (!text.starts_with("(") || end == std::string_view::npos) throw Error("the header's shape is no tuple");
  std::istringstream numbers{std::string(text.substr(1, end - 1))};
  Dims dims;
  std::int64_t dim = 0;
  while (numbers >> dim) {
    dims.push_back(dim);
    numbers.ignore(1, ',');
  }
  if (!numbers.eof()) throw Error("the header's shape is no tuple of numbers");
  return dims;
}

DataType npy_type(std::string_view header) {
  const std::string_view text = header_entry(header, "descr");
  const std::size_t end = text.find('\'', 1);
  const std::string_view code = text.substr(0, end == std::string_view::npos ? 0 : end);
  const bool little = code.size() > 2 && (code[1] == '<' || code[1] == '|' || code[1] == '=');
  for (const NpyType& known : kNpyTypes) {
    if (little && code.substr(2) == known.code) return known.type;
  }
  throw Error("elements {} found, little-endian numbers needed", code.empty() ? text.substr(0, 20) : code.substr(1));
}

// First index fastest to last index fastest.
Tensor from_fortran_order(const Tensor& tensor) {
  Tensor result(tensor.type(), tensor.dims());
  const std::size_t element = storage_bytes(tensor.type());
  const auto* from = static_cast<const char*>(tensor.raw());
  auto* to = static_cast<char*>(result.raw());
  Dims index(tensor.dims().size(), 0);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) place = place * tensor.dims()[axis] + index[axis];
    std::memcpy(to + static_cast<std::size_t>(place) * element, from + static_cast<std::size_t>(i) * element, element);
    for (std::size_t axis = 0; axis < index.size() && ++index[axis] == tensor.dims()[axis]; ++axis) index[axis] = 0;
  }
  return result;
}

Tensor read_npy(std::string_view bytes) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) throw Error("is no .npy file");
  const bool is_long = bytes[6] > 1;
  const std::size_t start = is_long ? 12 : 10;
  std::size_t length = 0;
  for (std::size_t i = start; i-- > 8;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (bytes.size() - start < length) throw Error("ends inside its header");
  const std::string_view header = bytes.substr(start, length);
  const Tensor tensor = from_bytes(npy_type(header), npy_shape(header), bytes.substr(start + length));
  return header_entry(header, "fortran_order").starts_with("True") ? from_fortran_order(tensor) : tensor;
}

DataType idx_type(unsigned char code) {
  switch (code) {
    case 0x08:
      return DataType::Uint8;
    case 0x09:
      return DataType::Int8;
    case 0x0B:
      return DataType::Int16;
    case 0x0C:
      return DataType::Int32;
    case 0x0D:
      return DataType::Float;
    case 0x0E:
      return DataType::Double;
    default:
      throw Error("is neither .npy, .pb nor IDX");
  }
}

// IDX: two zeros, type, rank, dimensions and elements, all big-endian.
Tensor read_idx(std::string bytes) {
  if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0) throw Error("is neither .npy, .pb nor IDX");
  const DataType type = idx_type(static_cast<unsigned char>(bytes[2]));
  const auto rank = static_cast<std::size_t>(static_cast<unsigned char>(bytes[3]));
  if (bytes.size() < 4 + 4 * rank) throw Error("ends inside its header");
  Dims dims;
  for (std::size_t i = 0; i < rank; ++i) {
    std::int64_t dim = 0;
    for (std::size_t k = 0; k < 4; ++k) dim = dim << 8 | static_cast<unsigned char>(bytes[4 + 4 * i + k]);
    dims.push_back(dim);
  }
  const std::size_t element = storage_bytes(type);
  for (std::size_t i = 4 + 4 * rank; element > 1 && i + element <= bytes.size(); i += element) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i), bytes.begin() + static_cast<std::ptrdiff_t>(i + element));
  }
  return from_bytes(type, std::move(dims), std::string_view(bytes).substr(4 + 4 * rank));
}

// The type that .npy has for the bits of one it lacks.
DataType npy_carrier(DataType type) {
  for (const NpyType& known : kNpyTypes) {
    if (known.type == type) return type;
  }
  if (type == DataType::String) throw Error("strings cannot be written as .npy");
  if (storage_bytes(type) == 2) return DataType::Uint16;
  return ir::is_signed(type) ? DataType::Int8 : DataType::Uint8;
}

std::string npy_header(DataType type, const Dims& dims) {
  const auto known = std::find_if(kNpyTypes.begin(), kNpyTypes.end(), [&](const NpyType& t) { return t.type == type; });
  std::string shape;
  for (std::int64_t dim : dims) shape += fmt::format("{}, ", dim);
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   storage_bytes(type) == 1 ? '|' : '<', known->code, shape);
  // Magic, version and length take 10 bytes; the data begin at a multiple of 64.
  header.append(63 - (header.size() + 10) % 64, ' ');
  header += '\n';
  std::string all = "\x93NUMPY";
  all += {'\x01', '\x00', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  return all + header;
}

}  // namespace

ir::Datum read_tensor_file(const std::string& path, const ir::Type& type) try {
  std::string bytes = read_bytes(path);
  if (path.ends_with(".pb")) return datum_from_bytes(bytes, type);
  Tensor tensor = path.ends_with(".npy") ? read_npy(bytes) : read_idx(std::move(bytes));
  return as_declared(std::move(tensor), type.element);
} catch (const Error& error) {
  throw error.at(path);
}

void write_npy(const Tensor& tensor, const std::string& path) try {
  const std::string header = npy_header(npy_carrier(tensor.type()), tensor.dims());
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::ofstream file(temporary, std::ios::binary);
  file << header;
  file.write(static_cast<const char*>(tensor.raw()), static_cast<std::streamsize>(tensor.bytes()));
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    throw Error("cannot be written");
  }
} catch (const Error& error) {
  throw error.at(path);
}

}  // namespace podium::importer
