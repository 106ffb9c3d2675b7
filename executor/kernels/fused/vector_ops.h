// Machine code of single elementwise ops on one vector register of floats.
#pragma once

#include "ir/infer.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define PODIUM_HAS_VECTOR_OPS 1

#include <xbyak/xbyak.h>

#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace podium::kernels {

/// Whether code has registers of 512 bits, 32 of them, and masks; else there are 16 of 256.
#if defined(__AVX512VL__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
inline constexpr bool kHasAvx512 = true;
#else
inline constexpr bool kHasAvx512 = false;
#endif

/// Of one instruction, in bytes.
inline constexpr std::size_t kLongestInstruction = 15;
/// Of a Sum, at most.
inline constexpr std::size_t kMostSummands = 12;
/// How vcvtps2ph rounds.
inline constexpr std::uint8_t kToNearestEven = 0;

/// Writes ops into `code`. The bits are those of the ops' own kernels, which go through the same steps
/// (fast_math.h); a result of halves is the float of the same value. A register of halves has their floats,
/// too. A register of bools has masks: all bits of a place, or none.
class VectorOps {
 public:
  /// Whether there is code for the op: its function and the types of its operands.
  static bool has(const ir::TypedOp& op);
  /// How many registers the op changes beside that of its result.
  static int spare_of(const ir::TypedOp& op);
  /// At most so many bytes of code and constants.
  static std::size_t most_bytes(const ir::TypedOp& op);

  /// `last_spare`: the highest of the spare registers, from which ops go down.
  VectorOps(Xbyak::CodeGenerator& code, int last_spare) : code_(code), last_spare_(last_spare) {}

  /// y = op(operands). All registers have the kind of y, which may be that of an operand. Operands that the
  /// op does not have are not looked at.
  void compute(const ir::TypedOp& op, const Xbyak::Xmm& y, const std::vector<Xbyak::Xmm>& operands);
  /// Rounds each float to the nearest half.
  void round_to_half(const Xbyak::Xmm& y);
  /// Writes the constants; once, behind all code.
  void write_constants();

 private:
  struct Row;
  enum class Signature : std::uint8_t;
  enum class Extreme : std::uint8_t { Largest, Smallest };
  struct OnRegisters {
    const ir::TypedOp& op;
    const Xbyak::Xmm& y;
    const std::vector<Xbyak::Xmm>& operands;
    const Xbyak::Xmm& a() const { return operands.front(); }
    const Xbyak::Xmm& b() const { return operands.back(); }
  };
  /// nullptr: there is none.
  static const Row* row_of(const ir::TypedOp& op);

  Xbyak::Xmm spare(const Xbyak::Xmm& like, int i) const { return {like.getKind(), last_spare_ - i}; }
  /// A vector with the number in each place.
  Xbyak::Address constant(float number);
  void load(const Xbyak::Xmm& to, float number) { code_.vmovups(to, constant(number)); }
  /// y = number > x ? number : x, and so that what is no number stays; changes `spare`.
  void raise(const Xbyak::Xmm& y, const Xbyak::Xmm& x, float number, const Xbyak::Xmm& spare);
  void lower(const Xbyak::Xmm& y, const Xbyak::Xmm& x, float number, const Xbyak::Xmm& spare);
  /// p = c[0] x^n + ... + c[n].
  void polynomial(const Xbyak::Xmm& p, const Xbyak::Xmm& x, std::span<const float> c);
  /// x = n ln(2) + r in the registers of fast_math::Reduced; mantissa = e^r, changes `spare`.
  void split_exp(const Xbyak::Xmm& r, const Xbyak::Xmm& n, const Xbyak::Xmm& mantissa,
                 const Xbyak::Xmm& spare);
  /// power = e^r; changes the others.
  void exp(const Xbyak::Xmm& power, const Xbyak::Xmm& r, const Xbyak::Xmm& n, const Xbyak::Xmm& p);
  void exp(const OnRegisters& on);
  void sum(const OnRegisters& on);
  void extreme(const OnRegisters& on, Extreme which);
  /// y = a mask of where a and b compare so.
  void compare(const Xbyak::Xmm& y, const Xbyak::Xmm& a, const Xbyak::Xmm& b, std::uint8_t how);
  void where(const OnRegisters& on);
  void sigmoid(const Xbyak::Xmm& y, const Xbyak::Xmm& x, float scale);
  /// Of functions with f(-x) = -f(x): the size of x, the polynomial in t = x^2 that counts near zero, and
  /// registers for what counts beyond.
  struct TwoSided {
    Xbyak::Xmm size, t, small, large, free, power;
  };
  TwoSided near_zero(const Xbyak::Xmm& like, const Xbyak::Xmm& x, std::span<const float> c);
  /// y = size < edge ? small : large with the sign of x.
  void choose(const Xbyak::Xmm& y, const Xbyak::Xmm& x, const Xbyak::Xmm& size, float edge,
              const Xbyak::Xmm& small, const Xbyak::Xmm& large);
  void tanh(const Xbyak::Xmm& y, const Xbyak::Xmm& x);
  void erf(const Xbyak::Xmm& y, const Xbyak::Xmm& x);
  void gelu(const OnRegisters& on);
  void hard_sigmoid(const Xbyak::Xmm& y, const Xbyak::Xmm& x, float alpha, float beta);
  /// power = e^x, a normal number; changes the others.
  void exp_in_range(const Xbyak::Xmm& power, const Xbyak::Xmm& x, const Xbyak::Xmm& n,
                    const Xbyak::Xmm& spare);
  /// y = x < edge ? below : others; changes `mask`, which may be x.
  void blend_below(const Xbyak::Xmm& y, const Xbyak::Xmm& x, float edge, const Xbyak::Xmm& below,
                   const Xbyak::Xmm& others, const Xbyak::Xmm& mask);
  void leaky_relu(const Xbyak::Xmm& y, const Xbyak::Xmm& x, const Xbyak::Operand& slope);
  void clip(const OnRegisters& on);

  Xbyak::CodeGenerator& code_;
  int last_spare_ = 0;
  std::map<std::uint32_t, Xbyak::Label> constants_;  // by the bits of the float
};

}  // namespace podium::kernels

#endif
