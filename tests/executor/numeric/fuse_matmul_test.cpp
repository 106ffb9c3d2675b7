#include "executor/numeric/fuse_matmul.h"

#include "executor/numeric/fuse_post_ops.h"
#include "tests/support/fusing.h"

namespace podium::numeric {
namespace {

using ir::IntList;
using ir::ValueId;
using testing::expect_same_when_fused;
using testing::ops_of;
using testing::Sketch;

TEST(FuseMatmul, PacksConstantFactors) {
  Sketch s;
  s.output(s.op("MatMul", {s.input({2, 3, 4}), s.weight({4, 5})}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(fuse_matmul(s.graph));
  EXPECT_EQ(ops_of(s.graph), "MatMul:0 = podium.MatMul(x0, w1)\n");
}

TEST(FuseMatmul, LeavesVectorsAndBatchesOfWeightsAlone) {
  Sketch s;
  s.output(s.op("MatMul", {s.input({4}), s.weight({4, 5})}));
  s.output(s.op("MatMul", {s.input({2, 3, 4}), s.weight({2, 4, 5})}));
  EXPECT_FALSE(fuse_matmul(s.graph));
}

TEST(FuseMatmul, LeavesDefaultsThatARunMayReplaceAlone) {
  Sketch s;
  const ValueId w = s.weight({4, 5});
  s.graph.inputs.push_back(w);
  s.output(s.op("MatMul", {s.input({3, 4}), w}));
  EXPECT_FALSE(fuse_matmul(s.graph));
}

TEST(FuseMatmul, ScalesWeightsAndBiasOfGemm) {
  Sketch s;
  s.output(s.op("Gemm", {s.input({3, 4}), s.weight({5, 4}), s.weight({5})},
                {{"transB", std::int64_t{1}}, {"alpha", 0.5F}, {"beta", -2.0F}}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(fuse_matmul(s.graph));
  EXPECT_EQ(ops_of(s.graph), "Gemm:0 = podium.MatMul(x0, w1:1, w2:2) {transB=1}\n");
}

TEST(FuseMatmul, LeavesGemmWithATransposedFirstFactorOrAMatrixAddedAlone) {
  Sketch s;
  s.output(s.op("Gemm", {s.input({4, 3}), s.weight({4, 5})}, {{"transA", std::int64_t{1}}}));
  s.output(s.op("Gemm", {s.input({3, 4}), s.weight({4, 5}), s.weight({3, 1})}));
  expect_same_when_fused(s.graph);
  EXPECT_FALSE(fuse_matmul(s.graph));
}

TEST(FuseMatmul, DropsTheFlatteningOfRows) {
  Sketch s;
  const ValueId rows = s.op("Reshape", {s.input({2, 3, 4}), s.ints({-1, 4})});
  const ValueId y = s.op("Gemm", {rows, s.weight({4, 5}), s.weight({5})});
  s.output(s.op("Reshape", {y, s.ints({2, 3, 5})}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(fuse_matmul(s.graph));
  EXPECT_EQ(ops_of(s.graph), "Reshape:4 = podium.MatMul(x0, w1, w2) {transB=0}\n");
}

TEST(FusePostOps, TakesBiasResidualAndActivation) {
  Sketch s;
  ValueId y = s.op("MatMul", {s.input({2, 3, 4}), s.weight({4, 5})});
  y = s.op("Add", {s.weight({5}), y});
  y = s.op("Add", {y, s.input({2, 3, 5})});
  s.output(s.op("Relu", {y}));
  expect_same_when_fused(s.graph);
  fuse_matmul(s.graph);
  EXPECT_TRUE(fuse_post_ops(s.graph));
  EXPECT_EQ(ops_of(s.graph),
            "Relu:3 = podium.MatMul(x0, w1, w2, x1) {activation=\"Relu\", alpha=0, beta=0}\n");
}

TEST(FusePostOps, KeepsAResidualThatIsReadAgain) {
  Sketch s;
  const ValueId x = s.op("Relu", {s.input({3, 4})});
  const ValueId y = s.op("Add", {s.op("MatMul", {x, s.weight({4, 4})}), x});
  s.output(s.op("Mul", {y, x}));
  expect_same_when_fused(s.graph);
}

TEST(FusePostOps, StopsAtTheFirstActivation) {
  Sketch s;
  const ValueId y = s.op("MatMul", {s.input({3, 4}), s.weight({4, 5})});
  s.output(s.op("Tanh", {s.op("Relu", {y})}));
  expect_same_when_fused(s.graph);
  fuse_matmul(s.graph);
  fuse_post_ops(s.graph);
  EXPECT_EQ(ops_of(s.graph),
            "Relu:1 = podium.MatMul(x0, w1) {activation=\"Relu\", alpha=0, beta=0}\n"
            "Tanh:2 = Tanh(Relu:1)\n");
}

TEST(FusePostOps, LeavesAnAddThatStretchesTheProductAlone) {
  Sketch s;
  const ValueId y = s.op("MatMul", {s.input({1, 4}), s.weight({4, 5})});
  s.output(s.op("Add", {y, s.input({3, 5})}));
  fuse_matmul(s.graph);
  EXPECT_FALSE(fuse_post_ops(s.graph));
}

TEST(FusePostOps, LeavesAnIntermediateThatTheGraphGivesOutAlone) {
  Sketch s;
  const ValueId y = s.op("MatMul", {s.input({3, 4}), s.weight({4, 5})});
  s.output(y);
  s.output(s.op("Relu", {y}));
  fuse_matmul(s.graph);
  EXPECT_FALSE(fuse_post_ops(s.graph));
}

TEST(FusePostOps, TakesEveryActivationAfterAProductAndAConvolution) {
  const std::vector<std::pair<const char*, std::vector<ir::Attribute>>> activations{
      {"Relu", {}},
      {"Sigmoid", {}},
      {"Tanh", {}},
      {"HardSwish", {}},
      {"Mish", {}},
      {"LeakyRelu", {{"alpha", 0.2F}}},
      {"Elu", {{"alpha", 0.7F}}},
      {"Swish", {{"alpha", 1.5F}}},
      {"Gelu", {{"approximate", std::string("none")}}},
      {"Gelu", {{"approximate", std::string("tanh")}}}};
  for (const auto& [name, attributes] : activations) {
    SCOPED_TRACE(name);
    Sketch s;
    s.output(s.op(name, {s.op("MatMul", {s.input({7, 40}), s.weight({40, 50})})}, attributes));
    s.output(s.op(name, {s.op("Conv", {s.input({1, 8, 7, 7}), s.weight({20, 8, 3, 3})})}, attributes));
    expect_same_when_fused(s.graph);
    fuse_matmul(s.graph);
    EXPECT_TRUE(fuse_post_ops(s.graph));
  }
}

TEST(FusePostOps, TakesAClipBetweenConstants) {
  Sketch s;
  const ValueId y = s.op("Conv", {s.input({2, 4, 5, 5}), s.weight({8, 4, 3, 3}), s.weight({8})});
  s.output(s.op("Clip", {y, s.number(-0.25F), s.number(0.5F)}));
  s.output(s.op("Clip", {s.op("MatMul", {s.input({3, 4}), s.weight({4, 5})}), s.number(-0.25F)}));
  expect_same_when_fused(s.graph);
}

TEST(FusePostOps, AddsTheSkipConnectionOfAConvolution) {
  Sketch s;
  const ValueId x = s.op("Conv", {s.input({1, 3, 8, 8}), s.weight({16, 3, 3, 3})});
  const ValueId y = s.op("Conv", {s.op("Relu", {x}), s.weight({16, 16, 1, 1}), s.weight({16})});
  s.output(s.op("Relu", {s.op("Add", {y, x})}));
  expect_same_when_fused(s.graph);
}

// Large enough for Winograd's algorithm.
TEST(FusePostOps, AddsBiasSkipConnectionAndActivationToLargeConvolutions) {
  Sketch s;
  const ValueId x = s.input({2, 40, 17, 15});
  const std::vector<ir::Attribute> same{{"pads", IntList{1, 1, 1, 1}}};
  ValueId y = s.op("Conv", {x, s.weight({40, 40, 3, 3}, 0.1F), s.weight({40})}, same);
  y = s.op("Relu", {s.op("Add", {s.op("Conv", {y, s.weight({40, 40, 3, 3}, 0.1F)}, same), x})});
  s.output(y);
  expect_same_when_fused(s.graph);
}

}  // namespace
}  // namespace podium::numeric
