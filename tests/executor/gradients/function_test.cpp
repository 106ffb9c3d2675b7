// Gradients through functions that a model defines itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importer/import.h"
#include "ir/infer.h"
#include "ir/gradients/differentiate.h"
#include "tests/support/run_text.h"

namespace podium {
namespace {

// The graph y = outer(x), outer(a) = inner(inner(a)), and the gradient of y by x as its output.
ir::Graph gradient_through(const std::string& inner) {
  const std::string imports = "opset_import: [\"\" : 17, \"ai.onnx.ml\" : 3, \"local\" : 1]";
  const std::string function = "\n<" + imports + ", domain: \"local\">\n";
  ir::Graph graph =
      importer::import_text("<ir_version: 8, " + imports +
                            ">\ng (float[2,1] x) => (float[2,1] y) { y = local.outer (x) }" + function +
                            "outer (a) => (c) { b = local.inner (a) c = local.inner (b) }" + function +
                            "inner (a) => (c) { " + inner + " }")
          .graph;
  ir::infer(graph);
  graph.outputs = ir::differentiate(graph, graph.outputs[0], graph.inputs);
  return graph;
}

TEST(GradientsOfFunctions, AreThoseOfWhatTheyCall) {
  const auto found = testing::run_graph(gradient_through("b = Mul (a, a) c = Add (b, a)"),
                                        {testing::tensor<float>({2, 1}, {1, 2})});
  // f = a^2 + a: f'(a) = 2 a + 1, at 1 and f(1) = 2, at 2 and f(2) = 6.
  EXPECT_THAT(testing::values<float>(found[0]), ::testing::ElementsAre(3 * 5, 5 * 13));
}

TEST(GradientsOfFunctions, NameTheNodeInsideThatHasNone) {
  try {
    gradient_through(
        "q = SequenceConstruct (a) m = SequenceMap <body = e (float[] j) => (float[] o) { n = RandomUniformLike (j)"
        " o = Mul (n, j) }> (q) i = Constant <value_int = 0> () c = SequenceAt (m, i)");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::StartsWith("node 'y/c/m' (SequenceMap): no gradient through what"));
  }
}

}  // namespace
}  // namespace podium
