// Machine code of single elementwise ops on one vector register of floats.
#pragma once

#include "ir/infer.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define PODIUM_HAS_VECTOR_OPS 1

#include <xbyak/xbyak.h>

#include <cstddef>
#include <map>
#include <vector>

namespace podium::kernels {

/// Whether code has registers of 512 bits, 32 of them, and masks; else there are 16 of 256.
#if defined(__AVX512VL__) && defined(__AVX512BW__)
inline constexpr bool kHasAvx512 = true;
#else
inline constexpr bool kHasAvx512 = false;
#endif

/// Writes ops into `code`. The bits are those of the ops' own kernels, which go through the same steps
/// (fast_math.h); a result of halves is the float of the same value. A register of halves has their floats,
/// too.
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
  Xbyak::Xmm spare(const Xbyak::Xmm& like, int i) const { return {like.getKind(), last_spare_ - i}; }
  /// A vector with the number in each place.
  Xbyak::Address constant(float number);
  void load(const Xbyak::Xmm& to, float number) { code_.vmovups(to, constant(number)); }
  /// y = number > x ? number : x, and so that what is no number stays; changes `spare`.
  void raise(const Xbyak::Xmm& y, const Xbyak::Xmm& x, float number, const Xbyak::Xmm& spare);
  void lower(const Xbyak::Xmm& y, const Xbyak::Xmm& x, float number, const Xbyak::Xmm& spare);
  void sigmoid(const Xbyak::Xmm& y, const Xbyak::Xmm& x, float scale);
  void times_power_of_two(const Xbyak::Xmm& y, const Xbyak::Xmm& exponent, const Xbyak::Xmm& spare);
  void hard_sigmoid(const Xbyak::Xmm& y, const Xbyak::Xmm& x, float alpha, float beta);
  void leaky_relu(const Xbyak::Xmm& y, const Xbyak::Xmm& x, float alpha);
  void clip(const ir::TypedOp& op, const Xbyak::Xmm& y, const std::vector<Xbyak::Xmm>& operands);

  Xbyak::CodeGenerator& code_;
  int last_spare_ = 0;
  std::map<std::uint32_t, Xbyak::Label> constants_;  // by the bits of the float
};

}  // namespace podium::kernels

#endif
