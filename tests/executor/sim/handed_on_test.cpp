#include "executor/sim/handed_on.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "executor/device/presets.h"
#include "tests/support/graph_text.h"

namespace podium::sim {
namespace {

// The names of what is handed on, of a kernel for each convolution and what follows it.
std::set<std::string> found(const std::string& text, const char* weights) {
  ir::Graph graph = testing::graph_of(text);
  for (ir::ValueId id : graph.inputs) {
    if (graph[id].name.starts_with(weights))
      graph[id].constant = ir::Tensor(graph[id].type.element, graph[id].type.dims);
  }
  device::Device device = *device::find_preset("a100-80");
  device.kind = device::ProcessorKind::Cpu;
  std::set<std::string> names;
  for (ir::ValueId id : handed_on(graph, device_kernels(graph, device))) names.insert(graph[id].name);
  return names;
}

std::string block(int side, const std::string& outputs = "") {
  return fmt::format(
      "g (float[1, 16, {0}, {0}] x, float[96, 16, 1, 1] w1, float[96, 1, 3, 3] w2, float[24, 96, 1, 1] w3)"
      " => (y{1}) {{ a = Conv(x, w1) b = Relu(a) c = Conv <group = 96, pads = [1, 1, 1, 1]> (b, w2) "
      "d = Relu(c) y = Conv(d, w3) }}",
      side, outputs);
}

TEST(HandedOn, IsWhatGoesIntoAndOutOfADepthwiseConvolutionOfLargeImages) {
  EXPECT_EQ(found(block(64), "w"), (std::set<std::string>{"b", "d"}));
  EXPECT_EQ(found(block(32), "w"), (std::set<std::string>{}));
}

TEST(HandedOn, IsNothingThatOthersRead) {
  EXPECT_EQ(found(block(64, ", b"), "w"), (std::set<std::string>{"d"}));
}

TEST(HandedOn, IsNothingInTraining) { EXPECT_EQ(found(block(64), "none"), (std::set<std::string>{})); }

}  // namespace
}  // namespace podium::sim
