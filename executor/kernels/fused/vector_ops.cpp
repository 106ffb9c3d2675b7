// Each op is a few instructions on registers. A bool is a mask, all bits of its place. Functions with e^x
// follow fast_math.h step by step: x is split into n ln(2) + r, a polynomial gives e^r, and n goes into the
// exponent. vmaxps and vminps give their second operand where one is no number, so that the constant is the
// first.
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

constexpr std::size_t kConstantBytes = 64;
constexpr std::uint8_t kMantissaBits = 23;
// How vcmpps compares; of what is no number, nothing holds.
constexpr std::uint8_t kEqual = 0;
constexpr std::uint8_t kLess = 1;
constexpr std::uint8_t kLessOrEqual = 2;
// Bits as a number, for the table of constants.
constexpr float kAllBits = std::bit_cast<float>(~std::uint32_t{0});
constexpr float kAllButSign = std::bit_cast<float>(~std::uint32_t{0} >> 1);

// The register that has half as many bytes.
Xmm narrow(const Xmm& wide) {
  return {wide.isZMM() ? Xbyak::Operand::YMM : Xbyak::Operand::XMM, wide.getIdx()};
}

}  // namespace

// The types of an op's operands and of its result.
enum class VectorOps::Signature : std::uint8_t {
  Floats,    // floats of floats
  Compares,  // bools of floats
  Chooses,   // floats of a bool and floats
  Bools,     // bools of bools
};

// An op: how it is written, the registers that it changes beside that of its result, and instructions and
// constants, at most.
struct VectorOps::Row {
  std::string_view name;
  void (*write)(VectorOps&, const OnRegisters&) = nullptr;
  int spare = 0;
  std::size_t instructions = 1;
  std::size_t constants = 0;
  Signature signature = Signature::Floats;
  std::size_t most_operands = kMostSummands;
};

const VectorOps::Row* VectorOps::row_of(const TypedOp& op) {
  using enum Signature;
  static constexpr std::array kRows{
      Row{"Add", [](VectorOps& to, const OnRegisters& on) { to.code_.vaddps(on.y, on.a(), on.b()); }},
      Row{"Sub", [](VectorOps& to, const OnRegisters& on) { to.code_.vsubps(on.y, on.a(), on.b()); }},
      Row{"Mul", [](VectorOps& to, const OnRegisters& on) { to.code_.vmulps(on.y, on.a(), on.b()); }},
      Row{"Div", [](VectorOps& to, const OnRegisters& on) { to.code_.vdivps(on.y, on.a(), on.b()); }},
      Row{"Sum", [](VectorOps& to, const OnRegisters& on) { to.sum(on); }, 1, kMostSummands},
      Row{"Max", [](VectorOps& to, const OnRegisters& on) { to.extreme(on, Extreme::Largest); }, 2, 4, 0,
          Floats, 2},
      Row{"Min", [](VectorOps& to, const OnRegisters& on) { to.extreme(on, Extreme::Smallest); }, 2, 4, 0,
          Floats, 2},
      Row{"Less", [](VectorOps& to, const OnRegisters& on) { to.compare(on.y, on.a(), on.b(), kLess); }, 0, 2,
          0, Compares},
      Row{"LessOrEqual",
          [](VectorOps& to, const OnRegisters& on) { to.compare(on.y, on.a(), on.b(), kLessOrEqual); }, 0, 2,
          0, Compares},
      Row{"Greater", [](VectorOps& to, const OnRegisters& on) { to.compare(on.y, on.b(), on.a(), kLess); }, 0,
          2, 0, Compares},
      Row{"GreaterOrEqual",
          [](VectorOps& to, const OnRegisters& on) { to.compare(on.y, on.b(), on.a(), kLessOrEqual); }, 0, 2,
          0, Compares},
      Row{"Equal", [](VectorOps& to, const OnRegisters& on) { to.compare(on.y, on.a(), on.b(), kEqual); }, 0,
          2, 0, Compares},
      Row{"Where", [](VectorOps& to, const OnRegisters& on) { to.where(on); }, 0, 2, 0, Chooses},
      Row{"And", [](VectorOps& to, const OnRegisters& on) { to.code_.vandps(on.y, on.a(), on.b()); }, 0, 1, 0,
          Bools},
      Row{"Or", [](VectorOps& to, const OnRegisters& on) { to.code_.vorps(on.y, on.a(), on.b()); }, 0, 1, 0,
          Bools},
      Row{"Not",
          [](VectorOps& to, const OnRegisters& on) { to.code_.vxorps(on.y, on.a(), to.constant(kAllBits)); },
          0, 1, 1, Bools},
      Row{"Neg",
          [](VectorOps& to, const OnRegisters& on) { to.code_.vxorps(on.y, on.a(), to.constant(-0.0F)); }, 0,
          1, 1},
      Row{"Abs",
          [](VectorOps& to, const OnRegisters& on) {
            to.code_.vandps(on.y, on.a(), to.constant(kAllButSign));
          },
          0, 1, 1},
      Row{"Exp", [](VectorOps& to, const OnRegisters& on) { to.exp(on); }, 3, 28, 13},
      Row{"Sqrt", [](VectorOps& to, const OnRegisters& on) { to.code_.vsqrtps(on.y, on.a()); }},
      Row{"Cast", [](VectorOps& to, const OnRegisters& on) { to.code_.vmovaps(on.y, on.a()); }},
      Row{"Clip", [](VectorOps& to, const OnRegisters& on) { to.clip(on); }, 0, 2},
      Row{"Relu", [](VectorOps& to, const OnRegisters& on) { to.raise(on.y, on.a(), 0, to.spare(on.y, 0)); },
          1, 2, 1},
      Row{"LeakyRelu",
          [](VectorOps& to, const OnRegisters& on) {
            to.leaky_relu(on.y, on.a(), to.constant(on.op.get_float("alpha")));
          },
          2, 4, 2},
      Row{"PRelu", [](VectorOps& to, const OnRegisters& on) { to.leaky_relu(on.y, on.a(), on.b()); }, 2, 3,
          1},
      Row{"HardSigmoid",
          [](VectorOps& to, const OnRegisters& on) {
            to.hard_sigmoid(on.y, on.a(), on.op.get_float("alpha"), on.op.get_float("beta"));
          },
          2, 6, 4},
      Row{"HardSwish",
          [](VectorOps& to, const OnRegisters& on) {
            const Xmm factor = to.spare(on.y, 0);
            to.hard_sigmoid(factor, on.a(), 1.0F / 6.0F, 0.5F);
            to.code_.vmulps(on.y, on.a(), factor);
          },
          2, 7, 4},
      Row{"Sigmoid", [](VectorOps& to, const OnRegisters& on) { to.sigmoid(on.y, on.a(), 1); }, 4, 32, 14},
      Row{"Swish",
          [](VectorOps& to, const OnRegisters& on) {
            const Xmm factor = to.spare(on.y, 0);
            to.sigmoid(factor, on.a(), on.op.get_float("alpha"));
            to.code_.vmulps(on.y, on.a(), factor);
          },
          4, 33, 14},
      Row{"Tanh", [](VectorOps& to, const OnRegisters& on) { to.tanh(on.y, on.a()); }, 6, 48, 24},
      Row{"Erf", [](VectorOps& to, const OnRegisters& on) { to.erf(on.y, on.a()); }, 6, 56, 30},
      Row{"Gelu", [](VectorOps& to, const OnRegisters& on) { to.gelu(on); }, 7, 64, 34},
  };
  const auto* found = std::ranges::find_if(kRows, [&](const Row& row) { return op.op.is(row.name); });
  return found == kRows.end() ? nullptr : found;
}

bool VectorOps::has(const TypedOp& op) {
  const Row* row = row_of(op);
  if (row == nullptr || op.op.inputs.size() > row->most_operands) return false;
  const auto fits = [](const ir::Type& type, bool is_bool) {
    return is_bool ? type.element == DataType::Bool
                   : type.element == DataType::Float || type.element == DataType::Float16;
  };
  const Signature signature = row->signature;
  const bool makes_bools = signature == Signature::Compares || signature == Signature::Bools;
  if (!fits(op.output_types.at(0), makes_bools)) return false;
  for (std::size_t i = 0; i < op.op.inputs.size(); ++i) {
    const bool reads_bools = signature == Signature::Bools || (signature == Signature::Chooses && i == 0);
    if (op.op.inputs[i].valid() && !fits(op.input(i), reads_bools)) return false;
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
  row_of(op)->write(*this, {op, y, operands});
}

void VectorOps::round_to_half(const Xmm& y) {
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

void VectorOps::polynomial(const Xmm& p, const Xmm& x, std::span<const float> c) {
  load(p, c.front());
  for (const float next : c.subspan(1)) code_.vfmadd213ps(p, x, constant(next));
}

void VectorOps::split_exp(const Xmm& r, const Xmm& n, const Xmm& mantissa, const Xmm& spare) {
  load(n, fast_math::kRoundingShift);
  code_.vfmadd231ps(n, r, constant(fast_math::kLog2OfE));
  code_.vsubps(n, n, constant(fast_math::kRoundingShift));
  code_.vfmadd231ps(r, n, constant(-fast_math::kLn2High));
  code_.vfmadd231ps(r, n, constant(-fast_math::kLn2Low));
  polynomial(spare, r, fast_math::kExpm1);
  code_.vmulps(mantissa, r, r);
  code_.vfmadd213ps(mantissa, spare, r);
  code_.vaddps(mantissa, mantissa, constant(1));
}

// Without masks a power of two is made of its bits, and in two steps, so that subnormal results are reached.
void VectorOps::exp(const Xmm& power, const Xmm& r, const Xmm& n, const Xmm& p) {
  raise(r, r, -105.0F, p);
  lower(r, r, 89.5F, p);
  split_exp(r, n, power, p);
  if constexpr (kHasAvx512) {
    code_.vscalefps(power, power, n);
  } else {
    const auto bias = constant(std::bit_cast<float>(std::uint32_t{127}));
    code_.vcvtps2dq(n, n);
    code_.vpsrad(p, n, 1);
    code_.vpsubd(n, n, p);
    for (const Xmm& part : {p, n}) {
      code_.vpaddd(part, part, bias);
      code_.vpslld(part, part, kMantissaBits);
      code_.vmulps(power, power, part);
    }
  }
}

void VectorOps::exp(const OnRegisters& on) {
  const Xmm r = spare(on.y, 0);
  code_.vmovaps(r, on.a());
  exp(on.y, r, spare(on.y, 1), spare(on.y, 2));
}

void VectorOps::sigmoid(const Xmm& y, const Xmm& x, float scale) {
  const Xmm r = spare(y, 0);
  const Xmm p = spare(y, 1);
  const Xmm power = spare(y, 3);
  code_.vmulps(r, x, constant(-scale));
  exp(power, r, spare(y, 2), p);
  code_.vaddps(power, power, constant(1));
  load(p, 1);
  code_.vdivps(y, p, power);
}

void VectorOps::choose(const Xmm& y, const Xmm& x, const Xmm& size, float edge, const Xmm& small,
                       const Xmm& large) {
  const Xmm sign = spare(y, 4);
  code_.vandps(sign, x, constant(-0.0F));
  code_.vorps(large, large, sign);
  blend_below(y, size, edge, small, large, size);
}

// The result is a normal number, so that n goes into its exponent in one step.
void VectorOps::exp_in_range(const Xmm& power, const Xmm& x, const Xmm& n, const Xmm& spare) {
  split_exp(x, n, power, spare);
  if constexpr (kHasAvx512) return code_.vscalefps(power, power, n);
  code_.vcvtps2dq(n, n);
  code_.vpslld(n, n, kMantissaBits);
  code_.vpaddd(power, power, n);
}

VectorOps::TwoSided VectorOps::near_zero(const Xmm& like, const Xmm& x, std::span<const float> c) {
  const TwoSided in{.size = spare(like, 0),
                    .t = spare(like, 1),
                    .small = spare(like, 2),
                    .large = spare(like, 3),
                    .free = spare(like, 4),
                    .power = spare(like, 5)};
  // Of NaN, NaN.
  code_.vmulps(in.size, x, constant(-1));
  code_.vmaxps(in.size, in.size, x);
  code_.vmulps(in.t, x, x);
  polynomial(in.small, in.t, c);
  return in;
}

void VectorOps::tanh(const Xmm& y, const Xmm& x) {
  const auto [size, t, small, large, free, power] = near_zero(y, x, fast_math::kTanh);
  code_.vmulps(small, t, small);
  code_.vfmadd213ps(small, x, x);
  lower(large, size, fast_math::kTanhIsOne, free);
  code_.vmulps(large, large, constant(2));
  exp_in_range(power, large, t, free);
  code_.vaddps(power, power, constant(1));
  load(large, 2);
  code_.vdivps(large, large, power);
  load(power, 1);
  code_.vsubps(large, power, large);
  choose(y, x, size, fast_math::kTanhEdge, small, large);
}

void VectorOps::erf(const Xmm& y, const Xmm& x) {
  const auto [size, t, small, large, free, power] = near_zero(y, x, fast_math::kErf);
  code_.vfmadd213ps(small, x, x);
  lower(t, size, fast_math::kErfIsOne, free);
  polynomial(large, t, fast_math::kLogErfc);
  code_.vfmsub213ps(large, t, t);
  exp_in_range(power, large, t, free);
  load(large, 1);
  code_.vsubps(large, large, power);
  choose(y, x, size, fast_math::kErfEdge, small, large);
}

void VectorOps::gelu(const OnRegisters& on) {
  const Xmm& y = on.y;
  const Xmm& x = on.a();
  constexpr float kRootOfHalf = 0.707106781186547524400844362104849039F;
  constexpr float kRootOfTwoOverPi = 0.797884560802865355879892119868763737F;
  const Xmm inner = spare(y, 6);
  if (on.op.get_string("approximate") == "tanh") {
    code_.vmulps(inner, x, constant(0.044715F));
    code_.vmulps(inner, inner, x);
    code_.vfmadd213ps(inner, x, x);
    code_.vmulps(inner, inner, constant(kRootOfTwoOverPi));
    tanh(inner, inner);
  } else {
    code_.vmulps(inner, x, constant(kRootOfHalf));
    erf(inner, inner);
  }
  code_.vaddps(inner, inner, constant(1));
  const Xmm half = spare(y, 0);
  code_.vmulps(half, x, constant(0.5F));
  code_.vmulps(y, half, inner);
}

void VectorOps::hard_sigmoid(const Xmm& y, const Xmm& x, float alpha, float beta) {
  const Xmm line = spare(y, 0);
  load(line, alpha);
  code_.vfmadd213ps(line, x, constant(beta));
  raise(line, line, 0, spare(y, 1));
  lower(y, line, 1, spare(y, 1));
}

void VectorOps::leaky_relu(const Xmm& y, const Xmm& x, const Xbyak::Operand& slope) {
  const Xmm scaled = spare(y, 0);
  code_.vmulps(scaled, x, slope);
  blend_below(y, x, 0, scaled, x, spare(y, 1));
}

// From left to right; y may be where a later operand is.
void VectorOps::sum(const OnRegisters& on) {
  const std::vector<Xmm>& all = on.operands;
  const Xmm so_far = spare(on.y, 0);
  if (all.size() == 1) return code_.vmovaps(on.y, on.a());
  for (std::size_t i = 1; i < all.size(); ++i)
    code_.vaddps(i + 1 == all.size() ? on.y : so_far, i == 1 ? all[0] : so_far, all[i]);
}

// The instructions give the second operand where one is no number, and of equals.
void VectorOps::extreme(const OnRegisters& on, Extreme which) {
  constexpr std::uint8_t kUnordered = 3;
  const Xmm found = spare(on.y, 0);
  const Xmm mask = spare(on.y, 1);
  if (on.operands.size() == 1) return code_.vmovaps(on.y, on.a());
  which == Extreme::Largest ? code_.vmaxps(found, on.b(), on.a()) : code_.vminps(found, on.b(), on.a());
  if constexpr (kHasAvx512) {
    code_.vcmpps(code_.k1, on.b(), on.b(), kUnordered);
    return code_.vblendmps(on.y | code_.k1, found, on.b());
  }
  code_.vcmpps(mask, on.b(), on.b(), kUnordered);
  code_.vblendvps(on.y, found, on.b(), mask);
}

void VectorOps::compare(const Xmm& y, const Xmm& a, const Xmm& b, std::uint8_t how) {
  if constexpr (kHasAvx512) {
    code_.vcmpps(code_.k1, a, b, how);
    return code_.vpmovm2d(y, code_.k1);
  }
  code_.vcmpps(y, a, b, how);
}

void VectorOps::where(const OnRegisters& on) {
  const Xmm& yes = on.operands[1];
  const Xmm& no = on.operands[2];
  if constexpr (kHasAvx512) {
    code_.vpmovd2m(code_.k1, on.a());
    return code_.vblendmps(on.y | code_.k1, no, yes);
  }
  code_.vblendvps(on.y, no, yes, on.a());
}

// By masks of whole elements.
void VectorOps::blend_below(const Xmm& y, const Xmm& x, float edge, const Xmm& below, const Xmm& others,
                            const Xmm& mask) {
  if constexpr (kHasAvx512) {
    code_.vcmpps(code_.k1, x, constant(edge), kLess);
    return code_.vblendmps(y | code_.k1, others, below);
  }
  code_.vcmpps(mask, x, constant(edge), kLess);
  code_.vblendvps(y, others, below, mask);
}

void VectorOps::clip(const OnRegisters& on) {
  const bool has_low = on.op.has_input(1);
  const bool has_high = on.op.has_input(2);
  if (has_low) code_.vmaxps(on.y, on.operands[1], on.a());
  const Xmm& raised = has_low ? on.y : on.a();
  if (has_high) return code_.vminps(on.y, on.operands[2], raised);
  if (!has_low) code_.vmovaps(on.y, raised);
}

}  // namespace podium::kernels

#endif
