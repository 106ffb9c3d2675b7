#include "executor/kernels/resize.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "executor/kernels/families.h"
#include "executor/kernels/gradient_ops.h"
#include "executor/kernels/tools/widened.h"

namespace podium::kernels {
namespace {

using Maps = std::shared_ptr<const std::vector<AxisMap>>;

// The maps from the optional inputs 1 to 3: roi, scales, sizes.
template <class Get>
std::vector<AxisMap> maps_from(const ResizeAttributes& attributes, const Dims& x, const Get& get) {
  return resize_maps(attributes, x, get(1), get(2), get(3));
}

// The maps, when everything they come from is known before the run.
Maps known_maps(const PrepareContext& context, const ResizeAttributes& attributes, const Dims& x) {
  for (std::size_t i = 1; i < 4; ++i) {
    if (context.has_input(i) && context.constant(i) == nullptr) return nullptr;
  }
  const auto constant = [&](std::size_t i) { return context.has_input(i) ? context.constant(i) : nullptr; };
  return std::make_shared<const std::vector<AxisMap>>(maps_from(attributes, x, constant));
}

// Nearest moves elements and needs no floats, but float16 regions of interest it does need as numbers.
PreparedKernel prepare_by_mode(PrepareContext& context) {
  const ResizeAttributes attributes = read_resize(context);
  if (attributes.antialias && attributes.mode == ResizeMode::Nearest) {
    throw Error("antialias is not defined for mode 'nearest'");
  }
  // One axis may still be so long that its map alone fits no memory.
  if (context.output(0).is_static() && context.output(0).element_count() == 0)
    return [](const RunContext&) {};
  const Maps known = known_maps(context, attributes, context.dims(0));
  return [attributes, known](const RunContext& run) {
    const auto given = [&](std::size_t i) { return run.has_input(i) ? &run.input(i) : nullptr; };
    const Tensor& x = run.input(0);
    Tensor& y = run.output(0);
    const Maps maps =
        known != nullptr
            ? known
            : std::make_shared<const std::vector<AxisMap>>(maps_from(attributes, x.dims(), given));
    if (attributes.mode == ResizeMode::Nearest) {
      resize_nearest(*maps, x, y);
    } else {
      resize_weighted(*maps, x, y);
    }
    fill_outside(*maps, attributes.extrapolation, y);
  };
}

// From outputs back to inputs: each input is the sum of the outputs that it is part of.
AxisMap reversed(const AxisMap& map) {
  struct Part {
    std::int64_t output;
    double weight;
  };
  std::vector<std::vector<Part>> parts(map.input);
  for (std::int64_t o = 0; o < map.output; ++o) {
    if (std::binary_search(map.outside.begin(), map.outside.end(), o)) continue;
    for (std::int64_t i = o * map.taps; i < (o + 1) * map.taps; ++i) {
      if (map.weights[i] != 0) parts[map.indices[i]].push_back({o, map.weights[i]});
    }
  }
  AxisMap result{.input = map.output, .output = map.input};
  for (const auto& list : parts) result.taps = std::max(result.taps, std::ssize(list));
  for (auto& list : parts) {
    list.resize(result.taps);
    for (const Part& part : list) {
      result.indices.push_back(part.output);
      result.weights.push_back(part.weight);
    }
  }
  return result;
}

PreparedKernel prepare_gradient(PrepareContext& context) {
  const ResizeAttributes attributes = read_resize(context);
  const Maps known = known_maps(context, attributes, context.output(0).dims);
  return [attributes, known](const RunContext& run) {
    const auto given = [&](std::size_t i) { return run.has_input(i) ? &run.input(i) : nullptr; };
    Tensor& gradient = run.output(0);
    const std::vector<AxisMap> maps =
        known != nullptr ? *known : maps_from(attributes, gradient.dims(), given);
    std::vector<AxisMap> back(maps.size());
    std::transform(maps.begin(), maps.end(), back.begin(), reversed);
    if (run.input(0).size() == 0) {
      std::memset(gradient.raw(), 0, gradient.bytes());
    } else {
      resize_weighted(back, run.input(0), gradient);
    }
  };
}

}  // namespace

PreparedKernel prepare_resize_gradient(PrepareContext& context) {
  return prepare_widened(context, prepare_gradient);
}

PreparedKernel prepare_resize(PrepareContext& context) { return prepare_widened(context, prepare_by_mode); }

std::span<const KernelSpec> resize_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Resize", .prepare = prepare_resize},
      {.name = "GridSample", .prepare = prepare_grid_sample},
      {.name = "AffineGrid", .prepare = widened<prepare_affine_grid>},
  };
  return kKernels;
}

}  // namespace podium::kernels
