#include "executor/session/random_input.h"

#include <fmt/format.h>

#include <random>

#include "ir/error.h"

namespace podium {
namespace {

std::uint64_t mix(std::uint64_t seed, const std::string& name) {
  for (char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return seed + 0x9E3779B97F4A7C15U;
}

// Widths of a mt19937 draw, by hand: the standard distributions differ between libraries.
float unit(std::mt19937_64& random) { return static_cast<float>(random() >> 40) * 0x1p-24F; }

template <class T>
void fill(ir::Tensor& tensor, std::mt19937_64& random, T (*draw)(std::mt19937_64&)) {
  for (T& element : tensor.values<T>()) element = draw(random);
}

template <class T>
T draw_float(std::mt19937_64& random) {
  return T(2 * unit(random) - 1);
}

template <class T>
T draw_small(std::mt19937_64& random) {
  return static_cast<T>(random() >> 63);
}

void fill_random(ir::Tensor& tensor, std::mt19937_64& random) {
  using ir::DataType;
  switch (tensor.type()) {
    case DataType::Float:
      return fill<float>(tensor, random, draw_float<float>);
    case DataType::Double:
      return fill<double>(tensor, random, draw_float<double>);
    case DataType::Float16:
      return fill<ir::Float16>(tensor, random, draw_float<ir::Float16>);
    case DataType::Bfloat16:
      return fill<ir::Bfloat16>(tensor, random, draw_float<ir::Bfloat16>);
    case DataType::Int64:
      return fill<std::int64_t>(tensor, random, draw_small<std::int64_t>);
    case DataType::Int32:
      return fill<std::int32_t>(tensor, random, draw_small<std::int32_t>);
    case DataType::Uint8:
      return fill<std::uint8_t>(tensor, random, draw_small<std::uint8_t>);
    case DataType::Int8:
      return fill<std::int8_t>(tensor, random, draw_small<std::int8_t>);
    case DataType::Bool:
      return fill<bool>(tensor, random, draw_small<bool>);
    default:
      throw Error("inputs of type {} cannot be drawn at random, a file is needed", name_of(tensor.type()));
  }
}

}  // namespace

ir::Datum random_input(const std::string& name, const ir::Type& type, std::uint64_t seed) {
  if (!type.is_static()) {
    throw Error("input '{}' is {}: give its file, or every symbolic dimension by --dim", name,
                to_string(type));
  }
  ir::Tensor tensor(type.element, type.dims);
  std::mt19937_64 random(mix(seed, name));
  try {
    fill_random(tensor, random);
  } catch (const Error& error) {
    throw error.at(fmt::format("input '{}'", name));
  }
  return tensor;
}

}  // namespace podium
