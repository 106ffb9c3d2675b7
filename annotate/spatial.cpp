#include "annotate/spatial.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "ir/ops/loops.h"

namespace podium::annotate {
namespace {

constexpr std::int64_t kSamples = 0;
constexpr std::int64_t kFirstSpatial = 2;

// Whether a spec cuts it so that the last of several devices has something, too.
bool is_cut_among(std::int64_t size, std::int64_t devices) {
  if (devices == 1) return false;
  const std::int64_t each = (size + devices - 1) / devices;
  return each * (devices - 1) < size;
}

bool normalises_batches(const ir::TypedOp& op) {
  return op.op.is("BatchNormalization") && op.get_int("training_mode") != 0;
}

// The longest spatial axis, the first of equal ones.
std::int64_t longest_axis(const ir::Dims& dims) {
  return std::max_element(dims.begin() + kFirstSpatial, dims.end()) - dims.begin();
}

// Device s * rows + r has part r of the images of group s.
ir::ShardingSpec spec_of(const ImageGroups& groups, bool has_samples, std::optional<std::int64_t> rows) {
  ir::ShardingSpec spec;
  if (has_samples) spec.axes.push_back({kSamples, {{.size = {}, .shards = groups.samples}}});
  if (rows) spec.axes.push_back({*rows, {{.size = {}, .shards = groups.rows}}});
  const std::int64_t in_group = rows ? groups.rows : 1;
  spec.holders.resize((has_samples ? groups.samples : 1) * in_group);
  for (std::int64_t device = 0; device < groups.devices(); ++device) {
    const std::int64_t group = has_samples ? device / groups.rows : 0;
    spec.holders[group * in_group + (rows ? device % groups.rows : 0)].push_back(device);
  }
  return spec;
}

std::string needed(const ImageGroups& groups) {
  std::vector<std::string> parts;
  if (groups.rows > 1) parts.push_back(fmt::format("{} rows or columns", groups.rows));
  if (groups.samples > 1) parts.push_back(fmt::format("{} samples", groups.samples));
  return fmt::format("{}", fmt::join(parts, ", or "));
}

}  // namespace

TensorParallelPlan cut_images(const ir::Graph& graph, const ImageGroups& groups) {
  TensorParallelPlan plan;
  std::optional<std::int64_t> axis;
  for (ir::OpId id : graph.op_ids()) {
    const ir::Op& op = graph[id];
    const ir::TypedOp typed(graph, op);
    if (!typed.has_output(0) || !has_static_operands(typed)) continue;
    const bool slides = !slides_of(typed).empty();
    if (!slides && !normalises_batches(typed)) continue;
    const ir::Dims& dims = typed.output(0).dims;
    if (slides && !axis) axis = longest_axis(typed.input(0).dims);
    const bool has_samples = is_cut_among(dims[kSamples], groups.samples);
    const bool has_rows = slides && *axis < std::ssize(dims) && is_cut_among(dims[*axis], groups.rows);
    if (has_samples || has_rows) ++plan.images;
    if (!slides && !has_samples) continue;
    plan.specs.push_back({id, op.outputs[0], spec_of(groups, has_samples, has_rows ? axis : std::nullopt)});
  }
  if (plan.images > 0) return plan;
  throw Error(
      "no convolution, pool or batch normalisation found whose images have {}, one for each device needed",
      needed(groups));
}

}  // namespace podium::annotate
