// The file: "\x93NUMPY", two bytes of version, the length of the header (2 bytes in version 1, else 4), then
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
// padded so that elements begin at a multiple of 64. A Fortran-ordered array is put into C order while it is
// copied. Types that NumPy does not have travel as bytes of their width.
#include "importer/npy.h"

#include <array>
#include <cstring>

#include "ir/number_text.h"

namespace podium::importer {
namespace {

using ir::DataType;
using ir::Dims;
using ir::Tensor;

struct Code {
  std::string_view text;  // without the byte order
  DataType type;
};
// V1 and V2 are raw bytes: NumPy writes them for types that a package added, such as bfloat16 and float8.
constexpr std::array kCodes{
    Code{"f4", DataType::Float},     Code{"f8", DataType::Double},      Code{"f2", DataType::Float16},
    Code{"i1", DataType::Int8},      Code{"i2", DataType::Int16},       Code{"i4", DataType::Int32},
    Code{"i8", DataType::Int64},     Code{"u1", DataType::Uint8},       Code{"u2", DataType::Uint16},
    Code{"u4", DataType::Uint32},    Code{"u8", DataType::Uint64},      Code{"b1", DataType::Bool},
    Code{"c8", DataType::Complex64}, Code{"c16", DataType::Complex128}, Code{"V1", DataType::Uint8},
    Code{"V2", DataType::Uint16},
};

struct Header {
  std::string descr = {};
  bool fortran_order = false;
  Dims dims = {};
};

// Reads the dictionary: strings, True, False and tuples of whole numbers as values.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  Header parse() {
    Header header;
    bool has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        header.descr = string();
      } else if (key == "fortran_order") {
        header.fortran_order = truth();
      } else if (key == "shape") {
        header.dims = tuple();
        has_shape = true;
      } else {
        throw Error("key '{}' found in the header, descr, fortran_order or shape needed", key);
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (header.descr.empty()) throw Error("the header gives no descr");
    if (!has_shape) throw Error("the header gives no shape");
    return header;
  }

 private:
  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool accept(char wanted) {
    skip_space();
    if (rest_.empty() || rest_[0] != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) throw Error("'{}' found in the header, '{}' needed", rest_.substr(0, 10), wanted);
  }
  std::string string() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) throw Error("a text in the header does not end");
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool truth() {
    skip_space();
    for (const std::string_view word : {"True", "False"}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    throw Error("'{}' found in the header, True or False needed", rest_.substr(0, 10));
  }
  Dims tuple() {
    Dims dims;
    expect('(');
    while (!accept(')')) {
      skip_space();
      const std::string_view found = rest_.substr(0, 10);
      const auto size = ir::take_number<std::int64_t>(rest_);
      if (!size || *size < 0) throw Error("'{}' found in the shape, a number needed", found);
      dims.push_back(*size);
      if (accept(',')) continue;
      expect(')');
      break;
    }
    return dims;
  }

  std::string_view rest_;
};

DataType type_of(const std::string& descr) {
  constexpr std::string_view kOrders = "<>|=";
  const bool has_order = kOrders.find(descr[0]) != std::string_view::npos;
  const std::string_view code = std::string_view(descr).substr(has_order ? 1 : 0);
  for (const Code& known : kCodes) {
    if (known.text != code) continue;
    if (descr[0] == '>' && storage_bytes(known.type) > 1) {
      throw Error("big-endian elements '{}' found, little-endian needed", descr);
    }
    return known.type;
  }
  throw Error("elements '{}' found, numbers needed (f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 c8 c16)", descr);
}

struct Axis {
  std::int64_t size;
  std::int64_t stride = 1;  // in the tensor, in elements
  std::int64_t index = 0;
};

// The first axis runs fastest in the file, the last one in a tensor.
void copy_fortran(const char* from, Tensor& to) {
  const std::size_t width = storage_bytes(to.type());
  std::vector<Axis> axes;
  for (std::int64_t size : to.dims()) {
    for (Axis& before : axes) before.stride *= size;
    axes.push_back({.size = size});
  }
  std::int64_t at = 0;
  for (std::int64_t n = 0; n < to.size(); ++n) {
    std::memcpy(static_cast<char*>(to.raw()) + at * width, from, width);
    from += width;
    for (Axis& axis : axes) {
      at += axis.stride;
      if (++axis.index < axis.size) break;
      at -= axis.stride * axis.size;
      axis.index = 0;
    }
  }
}

std::string_view code_of(DataType type) {
  if (type == DataType::Bfloat16) return "u2";
  if (type == DataType::Int4 || type == DataType::Int2) return "i1";
  for (const Code& known : kCodes) {
    if (known.type == type) return known.text;
  }
  if (type == DataType::String) throw Error("strings found, numbers needed for .npy");
  return "u1";
}

}  // namespace

Tensor tensor_from_npy(std::span<const char> bytes) {
  const std::string_view text(bytes.data(), bytes.size());
  if (!text.starts_with(kNpyMagic) || text.size() < 12) throw Error("is no .npy file");
  const int version = text[6];
  if (version < 1 || version > 3) throw Error("version {} of .npy found, 1 to 3 needed", version);
  const std::size_t start = version == 1 ? 10 : 12;
  std::uint32_t length = 0;
  std::memcpy(&length, text.data() + 8, start - 8);
  if (length > text.size() - start)
    throw Error("a header of {} bytes found, {} are left", length, text.size() - start);
  const Header header = HeaderParser(text.substr(start, length)).parse();
  const DataType type = type_of(header.descr);
  const std::string_view data = text.substr(start + length);
  const std::int64_t count = ir::element_count(header.dims);
  std::int64_t needed = 0;
  const std::int64_t width = storage_bytes(type);
  if (__builtin_mul_overflow(count, width, &needed) || std::ssize(data) != needed) {
    throw Error("{} bytes of elements found, {} of {} bytes needed for shape {}", data.size(), count, width,
                ir::to_string(header.dims));
  }
  Tensor tensor(type, header.dims);
  if (header.fortran_order && needed > 0) {
    copy_fortran(data.data(), tensor);
  } else if (needed > 0) {
    std::memcpy(tensor.raw(), data.data(), data.size());
  }
  if (type == DataType::Bool) {
    auto* truths = static_cast<std::uint8_t*>(tensor.raw());
    for (std::int64_t i = 0; i < count; ++i) truths[i] = truths[i] != 0 ? 1 : 0;
  }
  return tensor;
}

std::string npy_header(const Tensor& tensor) {
  const std::string_view code = code_of(tensor.type());
  std::string shape;
  for (std::int64_t size : tensor.dims()) shape += fmt::format("{}, ", size);
  if (tensor.rank() > 1) shape.resize(shape.size() - 2);
  if (tensor.rank() == 1) shape.pop_back();
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                 storage_bytes(tensor.type()) == 1 ? '|' : '<', code, shape);
  const std::size_t start = text.size() + 64 + 10 > 0xFFFF ? 12 : 10;
  // NumPy lets the elements start at a multiple of 64.
  text.append(63 - (start + text.size()) % 64, ' ');
  text += '\n';
  const auto length = static_cast<std::uint32_t>(text.size());
  std::string header(kNpyMagic);
  header += start == 10 ? '\x01' : '\x02';
  header += '\0';
  header.append(reinterpret_cast<const char*>(&length), start - 8);
  return header + text;
}

}  // namespace podium::importer
