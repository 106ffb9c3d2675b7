// Moving elements between strided layouts, the work of every op that computes nothing. Elements are moved by
// their size; strings are assigned.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ir/tensor.h"

namespace podium::kernels {

/// Row-major strides in elements: [2,3,4] gives [12,4,1].
ir::Dims strides_of(const ir::Dims& dims);
/// Product of dims[begin, end).
std::int64_t count_of(const ir::Dims& dims, std::size_t begin, std::size_t end);

/// Moving a byte is less work than an operation: threads wait for four times as many (parallel_ranges).
inline constexpr std::int64_t kBytesPerCost = 4;

/// One loop of a strided copy; the steps are in elements and may be zero or negative.
struct MoveLoop {
  std::int64_t count;
  std::int64_t from;
  std::int64_t to;
};

/// Copies between two layouts of nested loops, outermost first. Best given in the target's order.
/// E.g. the transpose of 2x3: {{3, 1, 2}, {2, 3, 1}}.
class StridedCopy {
 public:
  StridedCopy(ir::DataType type, const std::vector<MoveLoop>& loops);
  void run(const void* from, void* to) const;

 private:
  enum class Inner : std::uint8_t { Nothing, Runs, Elements, Fill, Transpose };

  std::vector<MoveLoop> loops_;  // steps in bytes
  Inner inner_ = Inner::Nothing;
  int unit_ = 0;  // bytes moved at once; 0: one string
  std::size_t run_bytes_ = 0;
  std::int64_t bytes_ = 0;  // moved in all

  void choose_inner();
  bool pair_for_transpose();
  void run_part(std::int64_t count, const std::byte* source, std::byte* target) const;
};

/// Copies `count` adjacent elements.
void copy_elements(ir::DataType type, const void* from, void* to, std::int64_t count);
/// Sets `count` adjacent elements to the one at `value`.
void fill_elements(ir::DataType type, const void* value, void* to, std::int64_t count);
/// Sets `count` adjacent elements to zero, or empty strings.
void zero_elements(ir::DataType type, void* to, std::int64_t count);

/// The address of element i.
inline const void* element_at(const void* data, ir::DataType type, std::int64_t i) {
  return static_cast<const std::byte*>(data) + i * ir::storage_bytes(type);
}
inline void* element_at(void* data, ir::DataType type, std::int64_t i) {
  return static_cast<std::byte*>(data) + i * ir::storage_bytes(type);
}

/// Walks an index space in row-major order beside kOperands offsets, each with strides of its own:
/// `for (StridedWalk<2> walk(dims, {a, b}); walk.more(); walk.next()) use(walk.offset(0), walk.offset(1));`
template <int kOperands>
class StridedWalk {
 public:
  StridedWalk(const ir::Dims& dims, std::array<ir::Dims, kOperands> strides)
      : dims_(dims), strides_(std::move(strides)), index_(dims.size(), 0), left_(ir::element_count(dims)) {}

  bool more() const { return left_ > 0; }
  std::int64_t offset(int operand) const { return offsets_[operand]; }
  const ir::Dims& index() const { return index_; }
  void next() {
    --left_;
    for (std::size_t axis = dims_.size(); axis-- > 0;) {
      for (std::size_t k = 0; k < kOperands; ++k) offsets_[k] += strides_[k][axis];
      if (++index_[axis] < dims_[axis]) return;
      for (std::size_t k = 0; k < kOperands; ++k) offsets_[k] -= strides_[k][axis] * dims_[axis];
      index_[axis] = 0;
    }
  }

 private:
  ir::Dims dims_;
  std::array<ir::Dims, kOperands> strides_;
  ir::Dims index_;
  std::array<std::int64_t, kOperands> offsets_ = {};
  std::int64_t left_;
};

}  // namespace podium::kernels
