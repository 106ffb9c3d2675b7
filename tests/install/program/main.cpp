// Runs a model on two processors and prints what comes out, and what a step costs: outside
#include <fmt/core.h>

#include "executor/device/presets.h"
#include "executor/session/session.h"

using namespace podium;

int main() {
  constexpr const char* kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (float[1,2] x) => (float[1,2] y) <float[2,2] w = {0,1,1,0}> { a = MatMul(x, w) y = Relu(a) })";
  InferenceSession session(importer::import_text(kModel),
                           {.strategy = {.virtual_graph_mode = VirtualGraphMode::Auto, .ipus = 2},
                            .device = *device::find_preset(device::kDefaultPreset),
                            .clock = true});
  const std::vector<ir::Datum> inputs{ir::Tensor::of<float>({1, 2}, {3, -4})};
  const ir::Tensor& y = session.run(inputs)[0].tensor;
  fmt::print("{} {} clocked {}\n", y.data<float>()[0], y.data<float>()[1], session.timeline()->makespan > 0);
  try {
    importer::import_text("no model");
  } catch (const Error&) {
    fmt::print("refused\n");
  }
}
