// Cast, CastLike, BitCast.
#include "executor/kernels/cast.h"

#include <cstring>

#include "executor/kernels/families.h"
#include "executor/kernels/tools/elementwise.h"

namespace podium::kernels {
namespace {

ir::PowerRounding rounding_named(const std::string& name) {
  if (name == "up") return ir::PowerRounding::Up;
  if (name == "down") return ir::PowerRounding::Down;
  if (name == "nearest") return ir::PowerRounding::Nearest;
  throw Error("round_mode is \"{}\", \"up\", \"down\" or \"nearest\" needed", name);
}

void copy(const Tensor& from, Tensor& to) {
  if (from.raw() == to.raw()) return;
  if (from.type() == DataType::String) {
    std::copy_n(from.data<std::string>(), from.size(), to.data<std::string>());
  } else if (from.size() > 0) {
    std::memcpy(to.raw(), from.raw(), from.bytes());
  }
}

PreparedKernel cast(PrepareContext& context) {
  const CastOptions options{.saturate = context.get_int("saturate") != 0,
                            .rounding = rounding_named(context.get_string("round_mode"))};
  return [options](const RunContext& run) {
    const Tensor& from = run.input(0);
    Tensor& to = run.output(0);
    if (from.type() == to.type()) return copy(from, to);
    if (to.type() == DataType::String) return print_numbers(from, to);
    if (from.type() == DataType::String) return parse_numbers(from, to, options);
    parallel_ranges(from.size(), kElementCost, [&](std::int64_t begin, std::int64_t end) {
      convert_numbers(from, to, begin, end - begin, options);
    });
  };
}

template <class Narrow>
void keep_bits(const Tensor& from, Tensor& to) {
  const auto* in = static_cast<const std::uint8_t*>(from.raw());
  auto* out = static_cast<Narrow*>(to.raw());
  for (std::int64_t i = 0; i < from.size(); ++i) out[i] = Narrow(in[i]);
}

// Types of less than a byte fill theirs with copies of the sign, which is not the same bit in all of them.
PreparedKernel bit_cast(PrepareContext& /*context*/) {
  return [](const RunContext& run) {
    const Tensor& from = run.input(0);
    Tensor& to = run.output(0);
    if (to.type() == DataType::Int4) return keep_bits<ir::Int4>(from, to);
    if (to.type() == DataType::Int2) return keep_bits<ir::Int2>(from, to);
    if (to.type() == DataType::Uint2) return keep_bits<ir::Uint2>(from, to);
    if (ir::bit_width(to.type()) == 4) return keep_bits<ir::Uint4>(from, to);
    if (from.raw() != to.raw() && from.size() > 0) std::memcpy(to.raw(), from.raw(), from.bytes());
  };
}

}  // namespace

std::span<const KernelSpec> cast_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Cast", .prepare = cast},
      {.name = "CastLike", .prepare = cast},
      {.name = "BitCast", .prepare = bit_cast, .in_place = 1},
  };
  return kKernels;
}

}  // namespace podium::kernels
