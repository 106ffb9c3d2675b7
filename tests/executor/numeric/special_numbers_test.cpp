// NaN and infinities pass fused ops as they pass the ops that were fused.
#include <gtest/gtest.h>

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
      ASSERT_EQ(shown(fused.data<float>()[i]), shown(plain.data<float>()[i]))
          << what << ", element " << i << " of " << special;
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
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes{{4, 6}, {32, 16}};  // channels, side
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

TEST(SpecialNumbers, PassAConvolutionAndItsPool) {
  for (const std::string pool : {"MaxPool", "AveragePool"}) {
    Sketch s;
    const auto product = s.op("Conv", {s.input({1, 4, 6, 6}), s.weight({4, 4, 3, 3})});
    s.output(s.op(pool, {product}, {{"kernel_shape", ir::IntList{2, 2}}}));
    expect_alike(s, pool);
  }
}

}  // namespace
}  // namespace podium::numeric
