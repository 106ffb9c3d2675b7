#include "executor/kernels/vision.h"

#include <algorithm>

#include "executor/kernels/families.h"

namespace podium::kernels {
namespace {

// Corners in order, so that area and overlap need no cases.
struct Box {
  float left = 0;
  float top = 0;
  float right = 0;
  float bottom = 0;

  float area() const { return (right - left) * (bottom - top); }
};

Box box_from(const float* numbers, bool is_centre) {
  if (is_centre) {
    const float half_width = numbers[2] / 2;
    const float half_height = numbers[3] / 2;
    return {numbers[0] - half_width, numbers[1] - half_height, numbers[0] + half_width,
            numbers[1] + half_height};
  }
  const auto [top, bottom] = std::minmax(numbers[0], numbers[2]);
  const auto [left, right] = std::minmax(numbers[1], numbers[3]);
  return {left, top, right, bottom};
}

bool overlap_too_much(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0 || a.area() <= 0 || b.area() <= 0) return false;
  const float shared = width * height;
  return shared / (a.area() + b.area() - shared) > threshold;
}

struct Suppression {
  std::int64_t most = 0;  // boxes of a class
  float overlap = 0;
  const float* least_score = nullptr;

  // Indices of the boxes of one class that stay, best first.
  std::vector<std::int64_t> select(std::span<const Box> boxes, const float* scores) const {
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < std::ssize(boxes); ++i) {
      if (least_score == nullptr || scores[i] > *least_score) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return scores[a] > scores[b]; });
    std::vector<std::int64_t> selected;
    for (std::int64_t candidate : order) {
      if (std::ssize(selected) >= most) break;
      const Box& box = boxes[candidate];
      const bool stays = std::none_of(selected.begin(), selected.end(), [&](std::int64_t other) {
        return overlap_too_much(box, boxes[other], overlap);
      });
      if (stays) selected.push_back(candidate);
    }
    return selected;
  }
};

const float* first_float(const RunContext& run, std::size_t i) {
  return run.has_input(i) && run.input(i).size() > 0 ? run.input(i).data<float>() : nullptr;
}

void suppress(const RunContext& run, bool is_centre) {
  Suppression rule;
  if (run.has_input(2) && run.input(2).size() > 0) rule.most = run.input(2).to_ints()[0];
  if (const float* overlap = first_float(run, 3)) rule.overlap = *overlap;
  rule.least_score = first_float(run, 4);
  const std::int64_t count = run.input(0).dim(1);
  const std::int64_t classes = run.input(1).dim(1);
  std::vector<Box> boxes(count);
  std::vector<std::int64_t> rows;
  for (std::int64_t batch = 0; batch < run.input(0).dim(0); ++batch) {
    const float* numbers = run.input(0).data<float>() + batch * count * 4;
    for (std::int64_t i = 0; i < count; ++i) boxes[i] = box_from(numbers + i * 4, is_centre);
    for (std::int64_t c = 0; c < classes; ++c) {
      const float* scores = run.input(1).data<float>() + (batch * classes + c) * count;
      for (std::int64_t box : rule.select(boxes, scores)) rows.insert(rows.end(), {batch, c, box});
    }
  }
  run.set(0, Tensor::of<std::int64_t>({std::ssize(rows) / 3, 3}, rows));
}

PreparedKernel non_max_suppression(PrepareContext& context) {
  const std::int64_t format = context.get_int("center_point_box");
  if (format != 0 && format != 1) throw Error("center_point_box is {}, 0 or 1 needed", format);
  return [is_centre = format == 1](const RunContext& run) { suppress(run, is_centre); };
}

}  // namespace

std::span<const KernelSpec> vision_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "NonMaxSuppression", .prepare = non_max_suppression},
      {.name = "RoiAlign", .prepare = roi_align},
      {.name = "ImageDecoder", .prepare = image_decoder},
  };
  return kKernels;
}

}  // namespace podium::kernels
