#include "executor/numeric/fuse_depthwise.h"

#include <algorithm>

#include "executor/numeric/rewriter.h"
#include "ir/ops/conv_algorithm.h"

namespace podium::numeric {
namespace {

using ir::Dims;
using ir::Op;
using ir::OpId;
using ir::ValueId;

// What a strip of one row hands on has to stay in the cache: an image of one long row has no strips.
constexpr std::int64_t kMostOfWindow = std::int64_t{1} << 20;

class DepthwiseBlocks {
 public:
  explicit DepthwiseBlocks(ir::Graph& graph) : rewriter_(graph) {}

  bool run() {
    for (OpId id : rewriter_.op_ids()) {
      if (rewriter_.is_alive(id) && is_depthwise(rewriter_.op(id))) join(id);
    }
    return rewriter_.finish();
  }

 private:
  const Dims& dims(ValueId id) const { return rewriter_.type(id).dims; }

  bool is_plane_convolution(const Op& op) const {
    return op.is("Convolution", "podium") && dims(op.inputs[1]).size() == 4;
  }

  bool is_pointwise(const Op& op) const {
    if (!is_plane_convolution(op) || ir::attribute<std::int64_t>(op, "group") != 1) return false;
    const Dims& weights = dims(op.inputs[1]);
    return weights[2] == 1 && weights[3] == 1 && strides(op) == Dims{1, 1} && pads(op) == Dims{0, 0, 0, 0};
  }

  // Any other convolution that Winograd's algorithm is not for: one with strides.
  bool can_come_before(const Op& op) const {
    if (is_pointwise(op)) return true;
    return is_plane_convolution(op) && ir::attribute<std::int64_t>(op, "group") == 1 && sees_rows(op) &&
           strides(op)[0] > 1 && strides(op)[1] > 1;
  }

  bool is_depthwise(const Op& op) const {
    if (!is_plane_convolution(op) || op.inputs.size() > 3 || !sees_rows(op)) return false;
    const Dims& weights = dims(op.inputs[1]);
    return weights[0] > 1 && weights[1] == 1 && ir::attribute<std::int64_t>(op, "group") == weights[0];
  }

  static const ir::IntList& strides(const Op& op) { return ir::attribute<ir::IntList>(op, "strides"); }
  static const ir::IntList& pads(const Op& op) { return ir::attribute<ir::IntList>(op, "pads"); }

  // Every window sees a row of X, and rows without a gap.
  bool sees_rows(const Op& op) const {
    const std::int64_t kernel = dims(op.inputs[1])[2];
    return ir::attribute<ir::IntList>(op, "dilations") == Dims{1, 1} && pads(op)[0] >= 0 &&
           pads(op)[0] < kernel && pads(op)[2] < kernel;
  }

  std::int64_t bytes_of_image(ValueId id) const {
    const ir::Type& type = rewriter_.type(id);
    return ir::packed_bytes(type) / type.dims[0];
  }

  // Of the rows that a window sees.
  std::int64_t bytes_of_window(const Op& op) const {
    const std::int64_t rows = dims(op.inputs[0])[1];
    return bytes_of_image(op.inputs[0]) / rows * dims(op.inputs[1])[2];
  }

  void join(OpId depthwise) {
    const ValueId x = rewriter_.op(depthwise).inputs[0];
    const ValueId y = rewriter_.op(depthwise).outputs[0];
    std::vector<OpId> members{depthwise};
    std::int64_t handed_on = 0;
    const OpId before = rewriter_.producer(x);
    if (before.valid() && rewriter_.only_reader(x).valid() && can_come_before(rewriter_.op(before)) &&
        rewriter_.op(before).inputs.size() <= 3) {
      members.insert(members.begin(), before);
      handed_on = bytes_of_image(x);
    }
    const OpId behind = rewriter_.only_reader(y);
    if (behind.valid() && is_pointwise(rewriter_.op(behind)) && rewriter_.op(behind).inputs[0] == y) {
      members.push_back(behind);
      handed_on = std::max(handed_on, bytes_of_image(y));
    }
    if (handed_on < ir::kLeastHandedOn || bytes_of_window(rewriter_.op(depthwise)) > kMostOfWindow) return;
    std::vector<Op> ops;
    for (OpId id : members) ops.push_back(rewriter_.op(id));
    const ValueId last = ops.back().outputs[0];
    Op block = op_over(rewriter_.graph(), "DepthwiseBlock", std::move(ops),
                       [&](ValueId made) { return made == last; });
    for (OpId id : members) {
      if (id != members.back()) rewriter_.erase(id);
    }
    rewriter_.replace(members.back(), std::move(block));
  }

  Rewriter rewriter_;
};

}  // namespace

bool fuse_depthwise(ir::Graph& graph) { return DepthwiseBlocks(graph).run(); }

}  // namespace podium::numeric
