#include "executor/cli/errata.h"

#include <gtest/gtest.h>

namespace podium::cli {
namespace {

TEST(Errata, AreOfOnePublishedVersionOnly) {
  EXPECT_NE(find_erratum("test_cast_FLOAT_to_BFLOAT16", 13), nullptr);
  EXPECT_EQ(find_erratum("test_cast_FLOAT_to_BFLOAT16", 25), nullptr);
  EXPECT_EQ(find_erratum("test_relu", 13), nullptr);
}

TEST(Errata, GiveAnOpTheAttributeThatItsCaseLeftOut) {
  const Erratum* erratum = find_erratum("test_adam_multiple", 1);
  ASSERT_NE(erratum, nullptr);
  ir::Graph graph;
  graph.ops.push_back({.spec = ir::find_op("ai.onnx.preview.training", "Adam")});
  graph.ops.push_back({.spec = ir::find_op("", "Relu")});
  correct(*erratum, graph);
  EXPECT_EQ(ir::attribute<float>(graph.ops[0], "epsilon"), 1e-2F);
  EXPECT_TRUE(graph.ops[1].attributes.empty());
}

}  // namespace
}  // namespace podium::cli
