// Each axis has a map from the places of the output to those of the input, or to the constant, up to the last
// axis that is padded; what lies behind that moves as a block. Runs of neighbours in the last map move at
// once, and threads share out the rows of the outer two axes.
#include "ir/ops/pad.h"

#include <algorithm>

#include "executor/kernels/families.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strides.h"
#include "executor/kernels/tools/unit.h"
#include "ir/ops/movement.h"

namespace podium::kernels {
namespace {

// The axes up to the last padded one; the axes after it form one block.
struct PadPlan {
  DataType type = DataType::Undefined;
  std::vector<Dims> maps = {};  // per axis, as ir::pad_map gives
  Dims from = {};               // elements of the input between neighbours on the axis
  Dims to = {};                 // the same in the output
  std::int64_t block = 1;
};

PadPlan make_plan(DataType type, const Dims& dims, const std::vector<ir::AxisPads>& pads,
                  const std::string& mode) {
  PadPlan plan{.type = type};
  std::size_t axes = dims.size();
  while (axes > 0 && pads[axes - 1].begin == 0 && pads[axes - 1].end == 0) --axes;
  plan.block = count_of(dims, axes, dims.size());
  Dims target;
  for (std::size_t i = 0; i < axes; ++i) {
    plan.maps.push_back(ir::pad_map(dims[i], pads[i], mode));
    target.push_back(std::ssize(plan.maps.back()));
  }
  plan.from = strides_of(dims);
  plan.to = strides_of(target);
  for (std::int64_t& step : plan.to) step *= plan.block;
  return plan;
}

// Writes every element of the output once, from its map.
template <class Move>
class Padder {
 public:
  Padder(const PadPlan& plan, const void* value, Move move, std::int64_t block_bytes)
      : plan_(plan),
        value_(value),
        move_(move),
        block_bytes_(block_bytes),
        element_(storage_bytes(plan.type)) {}

  // Rows of the outer two axes are shared out.
  void run(const std::byte* from, std::byte* to) const {
    constexpr std::size_t kShared = 2;
    if (plan_.maps.size() <= kShared) return run(0, from, to);
    const Dims& outer = plan_.maps[0];
    const Dims& inner = plan_.maps[1];
    parallel_ranges(std::ssize(outer) * std::ssize(inner), plan_.to[1] * element_ / kBytesPerCost,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i) {
                        const std::int64_t image = outer[i / std::ssize(inner)];
                        const std::int64_t row = inner[i % std::ssize(inner)];
                        std::byte* target = to + i * plan_.to[1] * element_;
                        if (image < 0 || row < 0) {
                          fill_elements(plan_.type, value_, target, plan_.to[1]);
                        } else {
                          run(kShared, from + (image * plan_.from[0] + row * plan_.from[1]) * element_,
                              target);
                        }
                      }
                    });
  }

 private:
  void run(std::size_t axis, const std::byte* from, std::byte* to) const {
    if (axis == plan_.maps.size()) return copy_elements(plan_.type, from, to, plan_.block);
    if (axis + 1 == plan_.maps.size()) return run_last(plan_.maps[axis], from, to);
    const std::int64_t from_step = plan_.from[axis] * element_;
    for (std::int64_t shown : plan_.maps[axis]) {
      if (shown >= 0) {
        run(axis + 1, from + shown * from_step, to);
      } else {
        fill_elements(plan_.type, value_, to, plan_.to[axis]);
      }
      to += plan_.to[axis] * element_;
    }
  }

  // Runs of neighbours, of the constant, and single blocks.
  void run_last(const Dims& map, const std::byte* from, std::byte* to) const {
    for (std::size_t i = 0; i < map.size();) {
      std::size_t end = i + 1;
      const std::int64_t step = map[i] < 0 ? 0 : 1;
      while (end < map.size() && map[end] == map[end - 1] + step) ++end;
      const std::int64_t count = end - i;
      std::byte* target = to + i * block_bytes_;
      if (map[i] < 0) {
        fill_elements(plan_.type, value_, target, count * plan_.block);
      } else if (count == 1) {
        move_(from + map[i] * block_bytes_, target);
      } else {
        copy_elements(plan_.type, from + map[i] * block_bytes_, target, count * plan_.block);
      }
      i = end;
    }
  }

  const PadPlan& plan_;
  const void* value_;
  Move move_;
  std::int64_t block_bytes_;
  std::int64_t element_;
};

void run_pad(const PadPlan& plan, const Tensor& zero, const RunContext& run) {
  const void* value = run.has_input(2) && run.input(2).size() == 1 ? run.input(2).raw() : zero.raw();
  with_block(plan.type, plan.block, [&](auto move, std::int64_t bytes) {
    Padder(plan, value, move, bytes)
        .run(static_cast<const std::byte*>(run.input(0).raw()), static_cast<std::byte*>(run.output(0).raw()));
  });
}

PreparedKernel pad(PrepareContext& context) {
  const Dims dims = context.dims(0);
  const auto rank = std::ssize(dims);
  const DataType type = context.element(0);
  const std::string mode = context.get_string("mode");
  Tensor zero(type, {});
  zero_elements(type, zero.raw(), 1);
  const bool has_axes = context.has_input(3);
  if (context.constant(1) != nullptr && (!has_axes || context.constant(3) != nullptr)) {
    const Dims axes = has_axes ? context.constant(3)->to_ints() : ir::all_axes(rank);
    const PadPlan plan = make_plan(type, dims, ir::pads_of(context.constant(1)->to_ints(), axes, rank), mode);
    return [plan, zero](const RunContext& run) { run_pad(plan, zero, run); };
  }
  return [=](const RunContext& run) {
    const Dims axes = has_axes ? run.input(3).to_ints() : ir::all_axes(rank);
    run_pad(make_plan(type, dims, ir::pads_of(run.input(1).to_ints(), axes, rank), mode), zero, run);
  };
}

}  // namespace

std::span<const KernelSpec> pad_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Pad", .prepare = pad},
  };
  return kKernels;
}

}  // namespace podium::kernels
