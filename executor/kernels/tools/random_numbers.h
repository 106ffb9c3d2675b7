// What random ops draw. A node with a seed draws as ONNX's reference does, from NumPy's RandomState: the same
// seed gives the same numbers. All others draw by counters: the number of an element follows from the seed of
// the session, the op's stream, the micro-batch and the element's place in the whole tensor, so that it does
// not depend on threads, and neither on how the op is cut, sliced, copied or run again (semantics, section
// 11.3).
#pragma once

#include <array>
#include <optional>
#include <random>

#include "executor/kernels/tools/kernel.h"
#include "executor/kernels/tools/moment.h"
#include "executor/kernels/tools/parallel.h"
#include "ir/random_draws.h"

namespace podium::kernels {

/// The generator of ONNX's reference.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint32_t seed) : generator_(seed) {}

  /// A number in [0, 1) with 53 random bits.
  double uniform();
  /// A number of the normal distribution with mean 0 and deviation 1.
  double normal();
  /// True with this probability, which is in [0, 1].
  bool happens(double probability);

 private:
  std::mt19937 generator_;
  double spare_ = 0;  // the second of the two numbers that one draw of normal gives
  bool has_spare_ = false;
};

/// Philox-4x32 with 10 rounds: of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2,
/// 3".
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// The numbers of consecutive elements: each call is for the next one.
class ElementNumbers {
 public:
  ElementNumbers(std::uint64_t key, std::uint64_t moment, std::int64_t first)
      : key_(key), moment_(moment), element_(static_cast<std::uint64_t>(first)) {}

  double uniform();
  double normal();
  bool happens(double probability) { return uniform() < probability; }

 private:
  std::array<std::uint32_t, 4> block(std::uint64_t index) const;

  std::uint64_t key_;
  std::uint64_t moment_;
  std::uint64_t element_;
  std::uint64_t known_ = ~std::uint64_t{0};  // the block whose numbers are `words_`
  std::array<std::uint32_t, 4> words_ = {};
};

/// Elements that follow each other both in the tensor that is drawn and in the whole one.
struct DrawnPiece {
  std::int64_t first = 0;  ///< in the tensor
  std::int64_t count = 0;
  std::int64_t whole_first = 0;
};

/// Where an op's numbers come from.
class RandomSource {
 public:
  /// For a tensor of these dimensions.
  RandomSource(const PrepareContext& context, const Dims& dims);

  /// Calls `draw(numbers, piece)` for pieces that make up the tensor, side by side. Numbers are in turn those
  /// of the piece's elements at the current moment.
  template <class Draw>
  void for_each_piece(const Draw& draw) const {
    if (seed_) {
      RandomNumbers numbers(*seed_);
      return draw(numbers, DrawnPiece{0, size_, 0});
    }
    const Moment moment = MomentScope::current();
    const std::vector<DrawnPiece> pieces = pieces_at(moment);
    parallel_ranges(std::ssize(pieces), kElements, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        ElementNumbers numbers(key_of(moment), micro_batch_of(moment), pieces[i].whole_first);
        draw(numbers, pieces[i]);
      }
    });
  }

 private:
  static constexpr std::int64_t kElements = 4096;  // of a piece at most

  std::vector<DrawnPiece> pieces_at(const Moment& moment) const;
  std::uint64_t key_of(const Moment& moment) const;
  std::uint64_t micro_batch_of(const Moment& moment) const;

  std::optional<std::uint32_t> seed_;  // of ONNX's generator
  std::uint64_t key_ = 0;
  std::int64_t size_ = 0;
  ir::Draws draws_;
  ir::DrawnBox box_;
};

}  // namespace podium::kernels
