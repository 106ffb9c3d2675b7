// Whole models against figures that nothing here was fitted on: inference of ONNX models on one C600 card in
// float16.
#include <gtest/gtest.h>

#include "executor/device/presets.h"
#include "executor/sim/op_cost.h"
#include "models/catalog.h"

namespace podium::sim {
namespace {

struct PublishedModel {
  const char* model;
  int batch;
  double samples_per_second;
};

constexpr PublishedModel kPublished[] = {
    {"resnet50", 1, 3653},   {"resnet50", 2, 5466},   {"resnet50", 4, 7438},   {"resnet50", 8, 9805},
    {"resnet50", 16, 11825}, {"resnet50", 32, 14240}, {"resnet50", 64, 16084}, {"resnet50", 90, 17105},
    {"bert", 16, 4817},      {"bert", 128, 5672},
};

double predicted_samples_per_second(const PublishedModel& row) {
  const std::string batch = std::to_string(row.batch);
  ir::Graph graph =
      models::build(row.model, {{"batch", batch}, {"weights", "none"}, {"type", "float16"}}).graph;
  ir::infer(graph);
  const device::Device& device = *device::find_preset("c600");
  double seconds = 0;
  for (ir::Op& op : graph.ops) {
    set_attribute(op, "__partials_type",
                  std::string("half"));  // as that framework sums up unless told otherwise
    seconds += op_cost(ir::TypedOp(graph, op), device, device.tiles).seconds;
  }
  return row.batch / seconds;
}

TEST(PublishedModels, AreNearWhatIsPredicted) {
  double sum = 0;
  for (const PublishedModel& row : kPublished) {
    const double ratio = predicted_samples_per_second(row) / row.samples_per_second;
    EXPECT_GT(ratio, 1 / 1.35) << row.model << " " << row.batch;
    EXPECT_LT(ratio, 1.35) << row.model << " " << row.batch;
    sum += std::abs(ratio - 1);
  }
  EXPECT_LT(sum / std::size(kPublished), 0.15);
}

}  // namespace
}  // namespace podium::sim
