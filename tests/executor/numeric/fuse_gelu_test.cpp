#include "executor/numeric/fuse_gelu.h"

#include "executor/numeric/fuse_layer_norm.h"
#include "tests/support/fusing.h"

namespace podium::numeric {
namespace {

using ir::ValueId;
using testing::expect_same_when_fused;
using testing::ops_of;
using testing::Sketch;

void expect_one_gelu(Sketch& s, const std::string& line) {
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(fuse_gelu(s.graph));
  EXPECT_EQ(ops_of(s.graph), line);
}

TEST(FuseGelu, KnowsTheFormThatMultipliesByAHalfLast) {
  Sketch s;
  const ValueId x = s.input({3, 40});
  const ValueId erf = s.op("Erf", {s.op("Div", {x, s.number(1.41421354F)})});
  const ValueId y = s.op("Mul", {x, s.op("Add", {erf, s.number(1)})});
  s.output(s.op("Mul", {y, s.number(0.5F)}));
  expect_one_gelu(s, "Mul:4 = Gelu(x0) {approximate=\"none\"}\n");
}

TEST(FuseGelu, KnowsTheFormsThatMultiplyByAHalfFirst) {
  Sketch s;
  const ValueId x = s.input({3, 40});
  const ValueId erf = s.op("Erf", {s.op("Mul", {s.number(0.70710677F), x})});
  const ValueId sum = s.op("Add", {s.number(1), erf});
  s.output(s.op("Mul", {s.op("Mul", {x, s.number(0.5F)}), sum}));
  expect_one_gelu(s, "Mul:4 = Gelu(x0) {approximate=\"none\"}\n");

  Sketch t;
  const ValueId u = t.input({3, 40});
  const ValueId half = t.op(
      "Mul",
      {t.number(0.5F), t.op("Add", {t.op("Erf", {t.op("Div", {u, t.number(1.41421354F)})}), t.number(1)})});
  t.output(t.op("Mul", {u, half}));
  expect_one_gelu(t, "Mul:4 = Gelu(x0) {approximate=\"none\"}\n");
}

TEST(FuseGelu, KnowsTheTanhForms) {
  Sketch s;
  ValueId x = s.input({3, 40});
  ValueId inner = s.op("Add", {x, s.op("Mul", {s.op("Pow", {x, s.number(3)}), s.number(0.044715F)})});
  ValueId tanh = s.op("Tanh", {s.op("Mul", {inner, s.number(0.79788456F)})});
  s.output(s.op("Mul", {s.op("Mul", {x, s.number(0.5F)}), s.op("Add", {tanh, s.number(1)})}));
  expect_one_gelu(s, "Mul:7 = Gelu(x0) {approximate=\"tanh\"}\n");

  Sketch t;
  x = t.input({3, 40});
  const ValueId bend = t.op("Add", {t.number(1), t.op("Mul", {t.op("Mul", {x, t.number(0.044715F)}), x})});
  tanh = t.op("Tanh", {t.op("Mul", {t.op("Mul", {x, t.number(0.79788456F)}), bend})});
  t.output(t.op("Mul", {t.op("Mul", {t.number(0.5F), x}), t.op("Add", {t.number(1), tanh})}));
  expect_one_gelu(t, "Mul:8 = Gelu(x0) {approximate=\"tanh\"}\n");
}

TEST(FuseGelu, LeavesOtherNumbersAlone) {
  Sketch s;
  const ValueId x = s.input({3});
  const ValueId erf = s.op("Erf", {s.op("Div", {x, s.number(1.5F)})});
  s.output(s.op("Mul", {s.op("Mul", {x, s.op("Add", {erf, s.number(1)})}), s.number(0.5F)}));
  EXPECT_FALSE(fuse_gelu(s.graph));
}

TEST(FuseGelu, LeavesAGateOverSomethingElseAlone) {
  Sketch s;
  const ValueId x = s.input({3});
  s.output(s.op("Mul", {s.input({3}), s.op("Sigmoid", {x})}));
  EXPECT_FALSE(fuse_gelu(s.graph));
}

TEST(FuseGelu, KnowsGatesOverTheirOwnInput) {
  Sketch s;
  const ValueId x = s.input({3, 20});
  s.output(s.op("Mul", {x, s.op("Sigmoid", {x})}));
  s.output(s.op("Mul", {s.op("HardSigmoid", {x}, {{"alpha", 1.0F / 6}}), x}));
  expect_one_gelu(s, "Mul:1 = Swish(x0) {alpha=1}\nMul:3 = HardSwish(x0)\n");
}

ValueId normalised(Sketch& s, ValueId x, bool twice, bool squares) {
  const ValueId mean = s.op("ReduceMean", {x, s.ints({-1})});
  const ValueId d = s.op("Sub", {x, mean});
  const ValueId e = twice ? s.op("Sub", {x, mean}) : d;
  const ValueId square = squares ? s.op("Mul", {e, e}) : s.op("Pow", {e, s.number(2)});
  const ValueId variance = s.op("ReduceMean", {square, s.ints({2})});
  return s.op("Div", {d, s.op("Sqrt", {s.op("Add", {variance, s.number(1e-5F)})})});
}

TEST(FuseLayerNorm, KnowsTheFormsOfExporters) {
  for (const bool variant : {false, true}) {
    Sketch s;
    const ValueId x = s.input({2, 3, 16});
    const ValueId y = s.op("Mul", {normalised(s, x, variant, variant), s.weight({16})});
    s.output(s.op("Add", {s.weight({16}), y}));
    expect_same_when_fused(s.graph);
    EXPECT_TRUE(fuse_layer_norm(s.graph));
    EXPECT_NE(ops_of(s.graph).find("= LayerNormalization(x0, w1, w2) {axis=-1, epsilon=1e-05}"),
              std::string::npos)
        << ops_of(s.graph);
    EXPECT_EQ(s.graph.ops.size(), 1U);
  }
}

TEST(FuseLayerNorm, DoesWithoutBias) {
  Sketch s;
  const ValueId x = s.input({2, 3, 16});
  s.output(s.op("Mul", {normalised(s, x, false, false), s.weight({16})}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(fuse_layer_norm(s.graph));
}

TEST(FuseLayerNorm, DoesWithoutScale) {
  for (const bool has_bias : {false, true}) {
    Sketch s;
    ValueId y = normalised(s, s.input({2, 3, 16}), false, false);
    if (has_bias) y = s.op("Add", {y, s.weight({16})});
    s.output(y);
    expect_same_when_fused(s.graph);
    EXPECT_TRUE(fuse_layer_norm(s.graph));
    EXPECT_EQ(s.graph.ops.size(), 1U) << ops_of(s.graph);
  }
}

TEST(FuseLayerNorm, LeavesAScaleOfAnotherShapeBehindIt) {
  Sketch s;
  const ValueId x = s.input({2, 3, 16});
  s.output(s.op("Mul", {normalised(s, x, false, false), s.weight({3, 1})}));
  expect_same_when_fused(s.graph);
  EXPECT_TRUE(fuse_layer_norm(s.graph));
  EXPECT_NE(ops_of(s.graph).find(" = Mul("), std::string::npos) << ops_of(s.graph);
}

}  // namespace
}  // namespace podium::numeric
