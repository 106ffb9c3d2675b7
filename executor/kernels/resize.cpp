#include "executor/kernels/resize.h"

#include <memory>

#include "executor/kernels/families.h"
#include "executor/kernels/widened.h"

namespace podium::kernels {
namespace {

using Maps = std::shared_ptr<const std::vector<AxisMap>>;

// Of optional inputs 1 to 3: roi, scales, sizes.
template <class Get>
std::vector<AxisMap> maps_from(const ResizeAttributes& attributes, const Dims& x, const Get& get) {
  return resize_maps(attributes, x, get(1), get(2), get(3));
}

// The maps, when everything they come from is known before the run.
Maps known_maps(const PrepareContext& context, const ResizeAttributes& attributes) {
  for (std::size_t i = 1; i < 4; ++i) {
    if (context.has_input(i) && context.constant(i) == nullptr) return nullptr;
  }
  const auto constant = [&](std::size_t i) { return context.has_input(i) ? context.constant(i) : nullptr; };
  return std::make_shared<const std::vector<AxisMap>>(maps_from(attributes, context.dims(0), constant));
}

// Nearest moves elements and needs no floats, but float16 regions of interest it does need as numbers.
PreparedKernel prepare_by_mode(PrepareContext& context) {
  const ResizeAttributes attributes = read_resize(context);
  if (attributes.antialias && attributes.mode == ResizeMode::Nearest) {
    throw Error("antialias is not defined for mode 'nearest'");
  }
  const Maps known = known_maps(context, attributes);
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

}  // namespace

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
