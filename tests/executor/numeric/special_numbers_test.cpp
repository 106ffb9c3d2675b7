// NaN and infinities pass fused ops as they pass the ops that were fused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/fusing.h"

namespace podium::numeric {
namespace {

using testing::Sketch;

struct Activation {
  std::string type;
  std::vector<ir::Attribute> attributes = {};
};

const std::vector<Activation>& activations() {
  static const std::vector<Activation> kAll{
      {"Relu"},      {"LeakyRelu"}, {"Elu"},  {"Sigmoid"}, {"Tanh"},
      {"HardSwish"}, {"Swish"},     {"Mish"}, {"Gelu"},    {"Gelu", {{"approximate", std::string("tanh")}}}};
  return kAll;
}

std::string shown(double number) {
  if (std::isnan(number)) return "NaN";
  return std::isinf(number) ? (number > 0 ? "infinity" : "-infinity") : "finite";
}

// The graph's only input with a special number first, in the middle and last.
void expect_alike(const Sketch& s, const std::string& what) {
  const ir::Graph& graph = s.graph;
  for (const float special : {NAN, INFINITY, -INFINITY}) {
    ir::Tensor x = testing::random_floats(graph[graph.inputs[0]].type.dims, 1);
    for (const std::int64_t at : {std::int64_t{0}, x.size() / 2, x.size() - 1}) x.data<float>()[at] = special;
    const std::vector<ir::Datum> inputs{x};
    const ir::Tensor plain = testing::run_graph(graph, false, inputs)[0];
    const ir::Tensor fused = testing::run_graph(graph, true, inputs)[0];
    for (std::int64_t i = 0; i < plain.size(); ++i) {
      const float found = fused.data<float>()[i];
      const float wanted = plain.data<float>()[i];
      ASSERT_EQ(shown(found), shown(wanted)) << what << ", element " << i << " of " << special;
      if (std::isfinite(wanted)) {
        ASSERT_NEAR(found, wanted, 1e-4 * std::max(1.0F, std::fabs(wanted)))
            << what << ", element " << i << " of " << special;
      }
    }
  }
}

TEST(SpecialNumbers, PassAProductAndItsActivation) {
  for (const Activation& activation : activations()) {
    Sketch s;
    const auto product = s.op("MatMul", {s.input({3, 8}), s.weight({8, 5})});
    s.output(s.op(activation.type, {product}, activation.attributes));
    expect_alike(s, activation.type);
  }
}

TEST(SpecialNumbers, PassAProductAndItsClip) {
  for (const bool bounded : {false, true}) {
    Sketch s;
    const auto product = s.op("MatMul", {s.input({3, 8}), s.weight({8, 5})});
    s.output(bounded ? s.op("Clip", {product, s.number(-0.5F), s.number(0.5F)})
                     : s.op("Clip", {product, ir::kNoValue, s.number(0.5F)}));
    expect_alike(s, "Clip");
  }
}

TEST(SpecialNumbers, PassAConvolutionAndItsActivation) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes{{4, 6}, {32, 16}, {64, 7}};  // channels, side
  for (const auto& [channels, side] : sizes) {
    for (const Activation& activation : activations()) {
      Sketch s;
      const auto product =
          s.op("Conv", {s.input({1, channels, side, side}), s.weight({channels, channels, 3, 3})},
               {{"pads", ir::IntList{1, 1, 1, 1}}});
      s.output(s.op(activation.type, {product}, activation.attributes));
      expect_alike(s, fmt::format("{} of {} channels", activation.type, channels));
    }
  }
}

// Results large enough that oneDNN clamps them, of each of its ways to convolve.
TEST(SpecialNumbers, PassAConvolutionAndItsClamp) {
  struct Case {
    std::string what;
    ir::Dims weights;
    std::int64_t group;
    std::int64_t stride;
  };
  const std::vector<Case> cases{{"dense", {24, 16, 3, 3}, 1, 1},     {"strided", {40, 16, 5, 5}, 1, 2},
                                {"depthwise", {16, 1, 3, 3}, 16, 1}, {"grouped", {32, 4, 3, 3}, 4, 1},
                                {"pointwise", {32, 16, 1, 1}, 1, 1}, {"odd", {17, 16, 3, 3}, 1, 1}};
  for (const Case& one : cases) {
    for (const bool is_relu : {true, false}) {
      Sketch s;
      const auto product = s.op("Conv", {s.input({2, 16, 68, 68}), s.weight(one.weights)},
                                {{"group", one.group}, {"strides", ir::IntList{one.stride, one.stride}}});
      s.output(is_relu ? s.op("Relu", {product}) : s.op("Clip", {product, s.number(0), s.number(6)}));
      expect_alike(s, one.what);
    }
  }
}

TEST(SpecialNumbers, PassALargeProductAndItsClamp) {
  for (const std::int64_t rows : {1, 300}) {
    Sketch s;
    const auto product = s.op("MatMul", {s.input({rows, 64}), s.weight({64, 260})});
    s.output(s.op("Relu", {s.op("Add", {product, s.weight({260})})}));
    expect_alike(s, fmt::format("{} rows", rows));
  }
}

TEST(SpecialNumbers, PassAResidualAndItsRelu) {
  for (const std::int64_t channels : {8, 32}) {
    Sketch s;
    const auto x = s.input({1, channels, 20, 20});
    const auto product =
        s.op("Conv", {x, s.weight({channels, channels, 3, 3})}, {{"pads", ir::IntList{1, 1, 1, 1}}});
    s.output(s.op("Relu", {s.op("Add", {product, x})}));
    expect_alike(s, fmt::format("{} channels", channels));
  }
}

// In strips, all of which are computed again where a clamp has met NaN.
TEST(SpecialNumbers, PassAnInvertedResidual) {
  for (const bool is_clipped : {false, true}) {
    Sketch s;
    const auto clamped = [&](ir::ValueId y) {
      return is_clipped ? s.op("Clip", {y, s.number(0), s.number(6)}) : s.op("Relu", {y});
    };
    const auto x = s.input({1, 4, 96, 96});
    auto y = clamped(s.op("Conv", {x, s.weight({32, 4, 1, 1}), s.weight({32})}));
    y = s.op("Conv", {y, s.weight({32, 1, 3, 3})},
             {{"group", std::int64_t{32}}, {"pads", ir::IntList{1, 1, 1, 1}}});
    y = s.op("Conv", {clamped(y), s.weight({4, 32, 1, 1})});
    s.output(clamped(s.op("Add", {x, y})));
    expect_alike(s, is_clipped ? "Clip" : "Relu");
  }
}

TEST(SpecialNumbers, PassAConvolutionAndItsPool) {
  for (const std::string pool : {"MaxPool", "AveragePool"}) {
    Sketch s;
    const auto product = s.op("Conv", {s.input({1, 4, 6, 6}), s.weight({4, 4, 3, 3})});
    s.output(s.op(pool, {product}, {{"kernel_shape", ir::IntList{2, 2}}}));
    expect_alike(s, pool);
  }
}

// A convolution of one element, so that minus infinity and numbers meet in windows.
TEST(SpecialNumbers, PassPointsAndTheirPool) {
  const std::vector<std::vector<ir::Attribute>> windows{{{"kernel_shape", ir::IntList{1, 1}}},
                                                        {{"kernel_shape", ir::IntList{3, 2}},
                                                         {"strides", ir::IntList{2, 1}},
                                                         {"pads", ir::IntList{1, 0, 1, 1}}},
                                                        {{"kernel_shape", ir::IntList{2, 2}},
                                                         {"dilations", ir::IntList{3, 2}},
                                                         {"pads", ir::IntList{2, 1, 0, 1}}}};
  // Maxima are computed in pieces of 1, 4, 8 and 16 channels, the last of which may begin before its place.
  for (const std::int64_t channels : {1, 3, 4, 7, 8, 11, 16, 37}) {
    for (const auto& window : windows) {
      Sketch s;
      const auto product = s.op("Conv", {s.input({2, 1, 7, 9}), s.weight({channels, 1, 1, 1})});
      s.output(s.op("MaxPool", {product}, window));
      expect_alike(s, fmt::format("MaxPool of {} channels", channels));
    }
  }
  Sketch s;
  s.output(s.op("GlobalMaxPool", {s.op("Conv", {s.input({2, 1, 7, 9}), s.weight({3, 1, 1, 1})})}));
  expect_alike(s, "GlobalMaxPool");
}

}  // namespace
}  // namespace podium::numeric
