#include "executor/session/random_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>

#include "ir/error.h"

namespace podium {
namespace {

std::uint64_t mix(std::uint64_t seed, const std::string& name) {
  for (char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return seed + 0x9E3779B97F4A7C15U;
}

using Random = std::mt19937_64;

// What integers are drawn below that are no ids, as masks are.
constexpr std::int64_t kZerosAndOnes = 2;

// Widths of a mt19937 draw, by hand: the standard distributions differ between libraries.
float unit(Random& random) { return static_cast<float>(random() >> 40) * 0x1p-24F; }

template <class T>
void fill_floats(ir::Tensor& tensor, Random& random) {
  for (T& element : tensor.values<T>()) element = T(2 * unit(random) - 1);
}

// 0 to below `count`: the upper half of a draw's product with it. More than 32 bits count nobody's ids.
template <class T>
void fill_integers(ir::Tensor& tensor, Random& random, std::int64_t count) {
  constexpr std::uint64_t kMost =
      std::min<std::uint64_t>(std::numeric_limits<T>::max(), std::numeric_limits<std::uint32_t>::max());
  const std::uint64_t below = std::min<std::uint64_t>(std::max<std::int64_t>(count, 1), kMost + 1);
  for (T& element : tensor.values<T>()) element = static_cast<T>((random() >> 32) * below >> 32);
}

void fill_random(ir::Tensor& tensor, Random& random, std::int64_t count) {
  using ir::DataType;
  switch (tensor.type()) {
    case DataType::Float:
      return fill_floats<float>(tensor, random);
    case DataType::Double:
      return fill_floats<double>(tensor, random);
    case DataType::Float16:
      return fill_floats<ir::Float16>(tensor, random);
    case DataType::Bfloat16:
      return fill_floats<ir::Bfloat16>(tensor, random);
    case DataType::Int64:
      return fill_integers<std::int64_t>(tensor, random, count);
    case DataType::Int32:
      return fill_integers<std::int32_t>(tensor, random, count);
    case DataType::Uint8:
      return fill_integers<std::uint8_t>(tensor, random, count);
    case DataType::Int8:
      return fill_integers<std::int8_t>(tensor, random, count);
    case DataType::Bool:
      return fill_integers<bool>(tensor, random, 2);
    default:
      throw Error("inputs of type {} cannot be drawn at random, a file is needed", name_of(tensor.type()));
  }
}

}  // namespace

ir::Datum random_input(const std::string& name, const ir::Type& type, const IdCounts& ids,
                       std::uint64_t seed) {
  if (!type.is_static()) {
    throw Error("input '{}' is {}: give its file, or every symbolic dimension by --dim", name,
                to_string(type));
  }
  ir::Tensor tensor(type.element, type.dims);
  Random random(mix(seed, name));
  const auto found = ids.find(name);
  try {
    fill_random(tensor, random, found == ids.end() ? kZerosAndOnes : found->second);
  } catch (const Error& error) {
    throw error.at(fmt::format("input '{}'", name));
  }
  return tensor;
}

}  // namespace podium
