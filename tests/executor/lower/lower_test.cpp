#include "executor/lower/lower.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/placed.h"
#include "tests/support/hand_trained.h"
#include "tests/support/refusal.h"

namespace podium::lower {
namespace {

constexpr const char* kChain = "g (float[2] x) => (float[2] y) { hidden = Relu(x) y = Exp(hidden) }";

std::vector<std::string> outputs_with(const std::vector<std::string>& anchors) {
  ir::Graph graph = testing::graph_of(kChain);
  Strategy strategy;
  for (const std::string& name : anchors) strategy.anchors[name] = {};
  add_anchors(graph, strategy);
  return testing::names_of(graph, graph.outputs);
}

TEST(AddAnchors, MakesOutputsOfTensorsThatAreNone) {
  EXPECT_EQ(outputs_with({}), (std::vector<std::string>{"y"}));
  EXPECT_EQ(outputs_with({"y", "hidden"}), (std::vector<std::string>{"y", "hidden"}));
  EXPECT_EQ(outputs_with({"x"}), (std::vector<std::string>{"y", "x"}));
}

TEST(AddAnchors, NamesTheNearestTensor) {
  EXPECT_EQ(testing::refusal([] { outputs_with({"hiden"}); }),
            "anchor 'hiden': the model has no tensor of this name, the nearest is 'hidden'");
}

TEST(Lower, OnOneProcessorIsOneBlock) {
  EXPECT_EQ(testing::steps_of(lower::on_one_processor(testing::graph_of(kChain))),
            "load x@0 from host\n"
            "compute all on ipu 0: (x@0) -> (y@0)\n"
            "store y@0 to host\n");
}

}  // namespace
}  // namespace podium::lower
