#include "executor/kernels/tools/random_numbers.h"

#include <atomic>
#include <cmath>
#include <memory>

namespace podium::kernels {
namespace {

// SplitMix64's finaliser: every bit of the input changes half of the output's.
std::uint64_t mixed(std::uint64_t bits) {
  bits += 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31);
}

}  // namespace

double RandomNumbers::uniform() {
  const auto high = static_cast<double>(generator_() >> 5);
  const auto low = static_cast<double>(generator_() >> 6);
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

// Marsaglia's polar method.
double RandomNumbers::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  double a = 0;
  double b = 0;
  double square = 0;
  do {
    a = 2.0 * uniform() - 1.0;
    b = 2.0 * uniform() - 1.0;
    square = a * a + b * b;
  } while (square >= 1.0 || square == 0.0);
  const double factor = std::sqrt(-2.0 * std::log(square) / square);
  spare_ = factor * a;
  has_spare_ = true;
  return factor * b;
}

// The rarer outcome is the one that a draw must reach.
bool RandomNumbers::happens(double probability) {
  const double rare = probability <= 0.5 ? probability : 1.0 - probability;
  const bool is_rare = rare > 0 && uniform() > std::exp(std::log(1.0 - rare));
  return is_rare == (probability <= 0.5);
}

std::function<std::uint32_t()> seeds_of(const PrepareContext& context) {
  if (const auto* seed = context.get_if<float>("seed")) {
    const auto fixed = static_cast<std::uint32_t>(static_cast<std::int64_t>(*seed));
    return [fixed] { return fixed; };
  }
  std::uint64_t op = mixed(context.seed);
  for (char letter : context.op.name) op = mixed(op ^ static_cast<unsigned char>(letter));
  // Ops without a name still differ in their outputs.
  for (ir::ValueId id : context.op.outputs) op = mixed(op ^ id.number());
  auto runs = std::make_shared<std::atomic<std::uint64_t>>(0);
  return [op, runs] { return static_cast<std::uint32_t>(mixed(op ^ runs->fetch_add(1))); };
}

}  // namespace podium::kernels
