#include "executor/numeric/fuse_attention.h"

#include "tests/support/fusing.h"

namespace podium::numeric {
namespace {

using ir::IntList;
using ir::ValueId;
using testing::expect_same_when_fused;
using testing::ops_of;
using testing::Sketch;

ValueId heads(Sketch& s, ValueId x, IntList order) {
  return s.op("Transpose", {x}, {{"perm", std::move(order)}});
}

TEST(FuseAttention, ReadsHeadsWhereTheyLie) {
  Sketch s;
  const ValueId q = heads(s, s.input({2, 5, 3, 8}), {0, 2, 1, 3});
  const ValueId k = heads(s, s.input({2, 7, 3, 8}), {0, 2, 3, 1});
  const ValueId v = heads(s, s.input({2, 7, 3, 8}), {0, 2, 1, 3});
  ValueId scores = s.op("Div", {s.op("MatMul", {q, k}), s.number(4)});
  scores = s.op("Softmax", {s.op("Add", {scores, s.input({2, 1, 1, 7})})});
  s.output(heads(s, s.op("MatMul", {scores, v}), {0, 2, 1, 3}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(fuse_attention(s.graph));
  EXPECT_EQ(
      ops_of(s.graph),
      "Div:4 = podium.StridedMatMul(x0, x1) {perm_a=[0,2,1,3], perm_b=[0,2,3,1], perm_y=[0,1,2,3], scale=0.25}\n"
      "Softmax:6 = podium.MaskedSoftmax(Div:4, x3)\n"
      "Transpose:8 = podium.StridedMatMul(Softmax:6, x2) {perm_a=[0,1,2,3], perm_b=[0,2,1,3], "
      "perm_y=[0,2,1,3], scale=1}\n");
}

TEST(FuseAttention, MultipliesScalesOfBothFactors) {
  Sketch s;
  const ValueId q = s.op("Mul", {s.number(0.5F), heads(s, s.input({1, 4, 2, 8}), {0, 2, 1, 3})});
  const ValueId k = heads(s, s.input({1, 4, 2, 8}), {0, 2, 1, 3});
  s.output(s.op("MatMul", {q, s.op("Mul", {heads(s, k, {0, 1, 3, 2}), s.number(3)})}));
  expect_same_when_fused(s.graph);
  fuse_attention(s.graph);
  EXPECT_EQ(
      ops_of(s.graph),
      "MatMul:5 = podium.StridedMatMul(x0, x1) {perm_a=[0,2,1,3], perm_b=[0,2,3,1], perm_y=[0,1,2,3], scale=1.5}\n");
}

TEST(FuseAttention, ReadsATransposedMatrixWhereItLiesForOneRow) {
  Sketch s;
  const ValueId matrix = s.op("Transpose", {s.input({33, 70})});
  s.output(s.op("Mul", {s.op("MatMul", {s.input({1, 70}), matrix}), s.number(0.5F)}));
  expect_same_when_fused(s.graph);
  fuse_attention(s.graph);
  EXPECT_EQ(ops_of(s.graph),
            "Mul:2 = podium.StridedMatMul(x1, x0) {perm_a=[0,1], perm_b=[1,0], perm_y=[0,1], scale=0.5}\n");
}

// As the gradient of a table of words is when it is the matrix of the last product, too.
TEST(FuseAttention, TurnsAProductThatIsTransposed) {
  Sketch s;
  const ValueId rows = s.op("Transpose", {s.input({40, 12})});
  s.output(s.op("Transpose", {s.op("MatMul", {rows, s.input({40, 50})})}));
  expect_same_when_fused(s.graph);
  fuse_attention(s.graph);
  EXPECT_EQ(
      ops_of(s.graph),
      "Transpose:2 = podium.StridedMatMul(x1, x0) {perm_a=[1,0], perm_b=[0,1], perm_y=[0,1], scale=1}\n");
}

TEST(FuseAttention, TurnsAProductOfHeadsThatIsTransposed) {
  Sketch s;
  const ValueId q = heads(s, s.input({2, 5, 3, 8}), {0, 2, 1, 3});
  const ValueId k = heads(s, s.input({2, 7, 3, 8}), {0, 2, 3, 1});
  s.output(heads(s, s.op("MatMul", {q, k}), {1, 3, 0, 2}));
  expect_same_when_fused(s.graph);
  fuse_attention(s.graph);
  EXPECT_EQ(ops_of(s.graph),
            "Transpose:3 = podium.StridedMatMul(x1, x0) {perm_a=[0,2,1,3], perm_b=[0,2,3,1], "
            "perm_y=[1,2,0,3], scale=1}\n");
}

// As the gradient of X multiplies with weights that change.
TEST(FuseAttention, ReadsATransposedMatrixWhereItLiesForAllRowsOfABatch) {
  Sketch s;
  const ValueId matrix = s.op("Transpose", {s.op("Mul", {s.input({33, 70}), s.number(0.5F)})});
  s.output(s.op("MatMul", {s.input({3, 5, 70}), matrix}));
  expect_same_when_fused(s.graph);
  fuse_attention(s.graph);
  EXPECT_EQ(
      ops_of(s.graph),
      "MatMul:2 = podium.StridedMatMul(x1, x0) {perm_a=[0,1,2], perm_b=[1,0], perm_y=[0,1,2], scale=0.5}\n");
}

TEST(FuseAttention, LeavesAMatrixForAllRowsThatIsNotTransposed) {
  Sketch s;
  s.output(s.op("MatMul", {s.input({3, 5, 70}), s.op("Mul", {s.input({70, 33}), s.number(0.5F)})}));
  EXPECT_FALSE(fuse_attention(s.graph));
}

TEST(FuseAttention, TurnsAConstantChoiceIntoAMask) {
  Sketch s;
  ir::Tensor causal(ir::DataType::Bool, {1, 1, 4, 4});
  for (std::int64_t i = 0; i < 16; ++i) causal.data<bool>()[i] = i % 4 <= i / 4;
  const ValueId may_look = s.graph.add_constant("causal", std::move(causal));
  const ValueId scores = s.op("Relu", {s.input({2, 3, 4, 4})});
  s.output(s.op("Softmax", {s.op("Where", {may_look, scores, s.number(-3.4e38F)})}));
  expect_same_when_fused(s.graph);
  fuse_attention(s.graph);
  EXPECT_NE(ops_of(s.graph).find("podium.MaskedSoftmax(Relu:0, mask:"), std::string::npos);
}

enum class MaskKind { None, Added, Causal };

// Attention of 12 heads over 96 positions that look at 136 each: more scores than a block is worth.
ValueId large_attention(Sketch& s, MaskKind kind, ValueId (*after_softmax)(Sketch&, ValueId) = nullptr) {
  const ValueId q = heads(s, s.input({8, 96, 12, 16}), {0, 2, 1, 3});
  const ValueId k = heads(s, s.input({8, 136, 12, 16}), {0, 2, 3, 1});
  const ValueId v = heads(s, s.input({8, 136, 12, 24}), {0, 2, 1, 3});
  ValueId scores = s.op("Mul", {s.op("MatMul", {q, k}), s.number(0.25F)});
  if (kind == MaskKind::Added) scores = s.op("Add", {scores, s.input({8, 1, 1, 136})});
  if (kind == MaskKind::Causal) {
    ir::Tensor mask(ir::DataType::Float, {96, 136});
    for (std::int64_t i = 0; i < mask.size(); ++i) {  // all of the first row is hidden
      const bool is_seen = i >= 136 && i % 136 <= i / 136;
      mask.data<float>()[i] = is_seen ? 0.0F : -3.4e38F;
    }
    scores = s.op("Add", {s.graph.add_constant("causal", std::move(mask)), scores});
  }
  ValueId shares = s.op("Softmax", {scores});
  if (after_softmax != nullptr) shares = after_softmax(s, shares);
  return heads(s, s.op("MatMul", {shares, v}), {0, 2, 1, 3});
}

TEST(FuseAttention, MakesOneOpOfProductsWithManyScores) {
  for (const MaskKind kind : {MaskKind::None, MaskKind::Added, MaskKind::Causal}) {
    Sketch s;
    s.output(large_attention(s, kind));
    expect_same_when_fused(s.graph);
    EXPECT_TRUE(fuse_attention(s.graph));
    const std::string mask = kind == MaskKind::None ? "" : kind == MaskKind::Added ? ", x3" : ", causal";
    const std::string ops = ops_of(s.graph);
    EXPECT_NE(ops.find(" = podium.StridedAttention(x0, x1, x2" + mask +
                       ") {perm_q=[0,2,1,3], perm_k=[0,2,3,1], perm_v=[0,2,1,3], perm_y=[0,2,1,3], "
                       "scale=0.25}\n"),
              std::string::npos)
        << ops;
    EXPECT_EQ(s.graph.ops.size(), 1U) << ops;
  }
}

TEST(FuseAttention, LeavesScoresThatOthersReadAlone) {
  Sketch dropped;
  dropped.output(large_attention(dropped, MaskKind::None,
                                 [](Sketch& s, ValueId shares) { return s.op("Relu", {shares}); }));
  Sketch shown;
  shown.output(large_attention(shown, MaskKind::None, [](Sketch& s, ValueId shares) {
    s.output(shares);
    return shares;
  }));
  for (Sketch* s : {&dropped, &shown}) {
    fuse_attention(s->graph);
    EXPECT_EQ(ops_of(s->graph).find("StridedAttention"), std::string::npos);
  }
}

TEST(FuseAttention, LeavesATransposeThatSplitsRowsAlone) {
  Sketch s;
  const ValueId a = heads(s, s.input({4, 3, 5, 2}), {3, 0, 1, 2});
  s.output(s.op("MatMul", {a, s.input({2, 4, 5, 6})}));
  EXPECT_FALSE(fuse_attention(s.graph));
  expect_same_when_fused(s.graph);
}

TEST(FuseAttention, LeavesMasksThatAreNotAMatrixOfTheScoresAlone) {
  Sketch s;
  const ValueId x = s.input({2, 3, 4});
  s.output(s.op("Softmax", {s.op("Add", {x, s.input({2, 3, 1})})}));
  s.output(s.op("Softmax", {s.op("Add", {x, s.input({3, 4})})}, {{"axis", std::int64_t{1}}}));
  EXPECT_FALSE(fuse_attention(s.graph));
}

}  // namespace
}  // namespace podium::numeric
