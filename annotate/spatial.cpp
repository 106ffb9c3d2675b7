#include "annotate/spatial.h"

#include <algorithm>
#include <optional>

#include "annotate/device_specs.h"
#include "ir/ops/loops.h"

namespace podium::annotate {
namespace {

constexpr std::int64_t kFirstSpatial = 2;

// As a spec cuts it, so that the last device has something, too.
bool is_enough(std::int64_t size, std::int64_t devices) {
  const std::int64_t each = (size + devices - 1) / devices;
  return each * (devices - 1) < size;
}

// The longest spatial axis, the first of equal ones.
std::int64_t longest_axis(const ir::Dims& dims) {
  return std::max_element(dims.begin() + kFirstSpatial, dims.end()) - dims.begin();
}

}  // namespace

TensorParallelPlan cut_images(const ir::Graph& graph, std::int64_t devices) {
  TensorParallelPlan plan;
  std::optional<std::int64_t> axis;
  for (ir::OpId id : graph.op_ids()) {
    const ir::Op& op = graph[id];
    const ir::TypedOp typed(graph, op);
    if (!typed.has_output(0) || !has_static_operands(typed) || slides_of(typed).empty()) continue;
    if (!axis) axis = longest_axis(typed.input(0).dims);
    const ir::Dims& dims = typed.output(0).dims;
    const bool is_cut = *axis < std::ssize(dims) && is_enough(dims[*axis], devices);
    if (is_cut) ++plan.images;
    plan.specs.push_back(
        {id, op.outputs[0],
         is_cut ? one_on_each({*axis, {{.size = {}, .shards = devices}}}, devices) : whole_on(devices)});
  }
  if (plan.images > 0) return plan;
  throw Error("no convolution or pool found whose images have {} rows or columns, one for each device needed",
              devices);
}

}  // namespace podium::annotate
