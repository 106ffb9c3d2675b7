// How an op is cut over devices: along some of its loops, each device with iterations of its own.
#pragma once

#include <optional>
#include <vector>

#include "annotate/layout.h"
#include "ir/ops/loops.h"

namespace podium::annotate {

/// The indices along an axis, or the iterations of a loop, that a device has, ascending.
using Ranges = std::vector<IndexRange>;
/// By device; nothing where it has nothing.
using Boxes = std::vector<std::optional<Box>>;

enum class Side : std::uint8_t { Input, Output };

/// What devices have of a value.
enum class Pieces : std::uint8_t {
  Parts,     ///< of it
  Summands,  ///< which add up to it
  Rivals     ///< whose largest elements it has
};

/// Gives the elements of its first input another shape or order.
bool is_view(const ir::Op& op);

struct OpCut {
  std::vector<ir::Loop> loops;
  std::vector<std::vector<Ranges>> ranges;  ///< for each loop by device; empty: not cut
  std::vector<bool> computes;               ///< by device

  /// Not cut: all devices compute all of it.
  OpCut(std::vector<ir::Loop> of, int devices)
      : loops(std::move(of)), ranges(loops.size()), computes(devices, true) {}

  int devices() const { return static_cast<int>(computes.size()); }
  bool is_cut() const;
  /// What the results of the devices are to each other.
  Pieces pieces() const;
};

/// Whether an op could be cut as one of its operands lies.
enum class Followed : std::uint8_t {
  Yes,
  NoLoop,    ///< the op does not run along the axis that is cut
  Uncovered  ///< with what is cut already, some results would be no device's
};

/// Cuts the op as the boxes of an operand of shape `dims` are. Leaves it as it is where that does not go.
Followed follow(OpCut& cut, Side side, std::size_t place, const ir::Dims& dims, const Boxes& boxes);

/// Devices that compute the same are copies of each other; the first of each kind are a set that computes
/// all, the second ones are, and so on. For each device all that those of its set have of an operand, if
/// every set has a box of its own; nothing where there are no copies.
std::optional<Boxes> boxes_of_sets(const OpCut& cut, const Boxes& boxes);

/// By device: of each loop that is cut the first device that computes with the same iterations. Devices with
/// the same numbers compute the same; none for a device that computes nothing.
std::vector<std::vector<int>> combinations(const OpCut& cut);

/// The box of an operand of shape `dims` with which a device computes.
Box box_for(const OpCut& cut, Side side, std::size_t place, const ir::Dims& dims, int device);
/// What a device keeps of an output: the box without what it made because windows slide, which others keep.
Box kept_box(const OpCut& cut, std::size_t output, const ir::Dims& dims, int device);
/// The parts of an op's slides with which a device computes.
std::vector<ir::PartOfSlide> parts_of_slides(const OpCut& cut, const std::vector<ir::Slide>& slides,
                                             int device);

}  // namespace podium::annotate
