#include "importer/idx.h"

#include <algorithm>
#include <cstring>

namespace podium::importer {
namespace {

using ir::DataType;

DataType type_of(char code) {
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
      return DataType::Undefined;
  }
}

}  // namespace

bool looks_like_idx(std::span<const char> bytes) {
  return bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 && type_of(bytes[2]) != DataType::Undefined;
}

ir::Tensor tensor_from_idx(std::span<const char> bytes) {
  if (!looks_like_idx(bytes)) throw Error("is no IDX file");
  const DataType type = type_of(bytes[2]);
  const std::size_t rank = static_cast<unsigned char>(bytes[3]);
  const std::size_t start = 4 + 4 * rank;
  if (bytes.size() < start) throw Error("{} bytes found, {} needed for the sizes", bytes.size(), start);
  ir::Dims dims;
  for (std::size_t i = 0; i < rank; ++i) {
    std::uint32_t size = 0;
    std::memcpy(&size, bytes.data() + 4 + 4 * i, 4);
    dims.push_back(__builtin_bswap32(size));
  }
  const std::int64_t width = storage_bytes(type);
  const std::int64_t found = bytes.size() - start;
  const std::int64_t count = ir::element_count(dims);
  if (found % width != 0 || found / width != count) {
    throw Error("{} bytes of elements found, {} of {} bytes needed for shape {}", found, count, width,
                ir::to_string(dims));
  }
  ir::Tensor tensor(type, dims);
  auto* out = static_cast<char*>(tensor.raw());
  if (count > 0) std::memcpy(out, bytes.data() + start, found);
  for (std::int64_t i = 0; width > 1 && i < count; ++i) std::reverse(out + i * width, out + (i + 1) * width);
  return tensor;
}

}  // namespace podium::importer
