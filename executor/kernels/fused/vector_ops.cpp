// Each op is a few instructions on registers. Functions with e^x follow fast_math.h step by step: x is split
// into n ln(2) + r, a polynomial gives e^r, and n goes into the exponent. vmaxps and vminps give their second
// operand where one is no number, so that the constant is the first.
#include "executor/kernels/fused/vector_ops.h"

#ifdef PODIUM_HAS_VECTOR_OPS

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "executor/kernels/tools/fast_math.h"

namespace podium::kernels {
namespace {

using ir::DataType;
using ir::TypedOp;
using Xbyak::Xmm;

constexpr std::size_t kLongestInstruction = 15;
constexpr std::size_t kConstantBytes = 64;

// What an op needs: registers beside its own, and instructions and constants, at most.
struct Row {
  std::string_view name;
  int spare = 0;
  std::size_t instructions = 1;
  std::size_t constants = 0;
};
constexpr std::array<Row, 13> kRows{{
    {.name = "Add"},
    {.name = "Sub"},
    {.name = "Mul"},
    {.name = "Div"},
    {.name = "Sqrt"},
    {.name = "Cast"},
    {.name = "Clip", .instructions = 2},
    {.name = "Relu", .spare = 1, .instructions = 2, .constants = 1},
    {.name = "LeakyRelu", .spare = 2, .instructions = 4, .constants = 2},
    {.name = "HardSigmoid", .spare = 2, .instructions = 6, .constants = 4},
    {.name = "HardSwish", .spare = 2, .instructions = 7, .constants = 4},
    {.name = "Sigmoid", .spare = 4, .instructions = 32, .constants = 14},
    {.name = "Swish", .spare = 4, .instructions = 33, .constants = 14},
}};

const Row* row_of(const TypedOp& op) {
  const auto* found = std::ranges::find_if(kRows, [&](const Row& row) { return op.op.is(row.name); });
  return found == kRows.end() ? nullptr : found;
}

// The register that has half as many bytes.
Xmm narrow(const Xmm& wide) {
  return {wide.isZMM() ? Xbyak::Operand::YMM : Xbyak::Operand::XMM, wide.getIdx()};
}

}  // namespace

bool VectorOps::has(const TypedOp& op) {
  const auto is_known = [](const ir::Type& type) {
    return type.element == DataType::Float || type.element == DataType::Float16;
  };
  const auto is_given = [&](std::size_t i) { return op.op.inputs[i].valid(); };
  if (row_of(op) == nullptr || !is_known(op.output_types.at(0))) return false;
  for (std::size_t i = 0; i < op.op.inputs.size(); ++i) {
    if (is_given(i) && !is_known(op.input(i))) return false;
  }
  return true;
}

int VectorOps::spare_of(const TypedOp& op) { return row_of(op)->spare; }

std::size_t VectorOps::most_bytes(const TypedOp& op) {
  constexpr std::size_t kToRound = 2;
  const Row& row = *row_of(op);
  return (row.instructions + kToRound) * kLongestInstruction + row.constants * kConstantBytes;
}

void VectorOps::compute(const TypedOp& op, const Xmm& y, const std::vector<Xmm>& operands) {
  const Xmm& a = operands.front();
  const Xmm& b = operands.back();
  if (op.op.is("Add")) return code_.vaddps(y, a, b);
  if (op.op.is("Sub")) return code_.vsubps(y, a, b);
  if (op.op.is("Mul")) return code_.vmulps(y, a, b);
  if (op.op.is("Div")) return code_.vdivps(y, a, b);
  if (op.op.is("Sqrt")) return code_.vsqrtps(y, a);
  if (op.op.is("Cast")) return code_.vmovaps(y, a);
  if (op.op.is("Clip")) return clip(op, y, operands);
  if (op.op.is("Relu")) return raise(y, a, 0, spare(y, 0));
  if (op.op.is("LeakyRelu")) return leaky_relu(y, a, op.get_float("alpha"));
  if (op.op.is("HardSigmoid")) return hard_sigmoid(y, a, op.get_float("alpha"), op.get_float("beta"));
  if (op.op.is("Sigmoid")) return sigmoid(y, a, 1);
  const Xmm factor = spare(y, 0);
  if (op.op.is("HardSwish")) {
    hard_sigmoid(factor, a, 1.0F / 6.0F, 0.5F);
  } else {
    sigmoid(factor, a, op.get_float("alpha"));
  }
  code_.vmulps(y, a, factor);
}

void VectorOps::round_to_half(const Xmm& y) {
  constexpr std::uint8_t kToNearestEven = 0;
  code_.vcvtps2ph(narrow(y), y, kToNearestEven);
  code_.vcvtph2ps(y, narrow(y));
}

Xbyak::Address VectorOps::constant(float number) {
  return code_.ptr[code_.rip + constants_[std::bit_cast<std::uint32_t>(number)]];
}

void VectorOps::write_constants() {
  for (auto& [bits, label] : constants_) {
    code_.align(kConstantBytes);
    code_.L(label);
    for (std::size_t i = 0; i < kConstantBytes / sizeof(float); ++i) code_.dd(bits);
  }
}

void VectorOps::raise(const Xmm& y, const Xmm& x, float number, const Xmm& spare) {
  load(spare, number);
  code_.vmaxps(y, spare, x);
}

void VectorOps::lower(const Xmm& y, const Xmm& x, float number, const Xmm& spare) {
  load(spare, number);
  code_.vminps(y, spare, x);
}

void VectorOps::sigmoid(const Xmm& y, const Xmm& x, float scale) {
  const Xmm r = spare(y, 0);
  const Xmm p = spare(y, 1);
  const Xmm n = spare(y, 2);
  const Xmm power = spare(y, 3);
  code_.vmulps(r, x, constant(-scale));
  raise(r, r, -105.0F, p);
  lower(r, r, 89.5F, p);
  load(n, fast_math::kRoundingShift);
  code_.vfmadd231ps(n, r, constant(fast_math::kLog2OfE));
  code_.vsubps(n, n, constant(fast_math::kRoundingShift));
  code_.vfmadd231ps(r, n, constant(-fast_math::kLn2High));
  code_.vfmadd231ps(r, n, constant(-fast_math::kLn2Low));
  load(p, fast_math::kExpm1.front());
  for (std::size_t i = 1; i < fast_math::kExpm1.size(); ++i)
    code_.vfmadd213ps(p, r, constant(fast_math::kExpm1[i]));
  code_.vmulps(power, r, r);
  code_.vfmadd213ps(power, p, r);
  code_.vaddps(power, power, constant(1));
  times_power_of_two(power, n, p);
  code_.vaddps(power, power, constant(1));
  load(p, 1);
  code_.vdivps(y, p, power);
}

// In two steps, so that subnormal results are reached. Changes the exponent.
void VectorOps::times_power_of_two(const Xmm& y, const Xmm& exponent, const Xmm& spare) {
  if constexpr (kHasAvx512) return code_.vscalefps(y, y, exponent);
  constexpr std::uint8_t kMantissaBits = 23;
  const auto bias = constant(std::bit_cast<float>(std::uint32_t{127}));
  code_.vcvtps2dq(exponent, exponent);
  code_.vpsrad(spare, exponent, 1);
  code_.vpsubd(exponent, exponent, spare);
  for (const Xmm& part : {spare, exponent}) {
    code_.vpaddd(part, part, bias);
    code_.vpslld(part, part, kMantissaBits);
    code_.vmulps(y, y, part);
  }
}

void VectorOps::hard_sigmoid(const Xmm& y, const Xmm& x, float alpha, float beta) {
  const Xmm line = spare(y, 0);
  load(line, alpha);
  code_.vfmadd213ps(line, x, constant(beta));
  raise(line, line, 0, spare(y, 1));
  lower(y, line, 1, spare(y, 1));
}

// x < 0 ? alpha x : x, by masks of whole elements.
void VectorOps::leaky_relu(const Xmm& y, const Xmm& x, float alpha) {
  constexpr std::uint8_t kLess = 1;
  const Xmm scaled = spare(y, 0);
  code_.vmulps(scaled, x, constant(alpha));
  if constexpr (kHasAvx512) {
    code_.vcmpps(code_.k1, x, constant(0), kLess);
    return code_.vblendmps(y | code_.k1, x, scaled);
  }
  const Xmm mask = spare(y, 1);
  code_.vcmpps(mask, x, constant(0), kLess);
  code_.vblendvps(y, x, scaled, mask);
}

void VectorOps::clip(const TypedOp& op, const Xmm& y, const std::vector<Xmm>& operands) {
  const auto has_bound = [&](std::size_t i) { return i < op.op.inputs.size() && op.op.inputs[i].valid(); };
  const bool has_low = has_bound(1);
  const bool has_high = has_bound(2);
  if (has_low) code_.vmaxps(y, operands[1], operands[0]);
  const Xmm& raised = has_low ? y : operands[0];
  if (has_high) return code_.vminps(y, operands[2], raised);
  if (!has_low) code_.vmovaps(y, raised);
}

}  // namespace podium::kernels

#endif
