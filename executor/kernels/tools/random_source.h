// Where the kernels of random ops take the numbers of their elements from (random_numbers.h), side by side.
#pragma once

#include <optional>

#include "executor/kernels/tools/kernel.h"
#include "executor/kernels/tools/moment.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/random_numbers.h"
#include "ir/random_draws.h"

namespace podium::kernels {

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
