// What the gradient of a loop goes back through.
#include "ir/gradients/loop_plan.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

std::string plan_of_scan(const std::string& text, const std::vector<bool>& wanted) {
  Graph graph = testing::graph_of(text);
  const Op scan = graph.ops.at(0);
  Builder builder(graph);
  GradientContext context(builder, scan, std::vector<ValueId>(scan.outputs.size(), kNoValue), wanted);
  const Scanning read = read_scan(context);
  return print(plan_loop_gradient(context, read), read.body);
}

// A state that sums products with a captured matrix, and one that stays as it is.
constexpr const char* kProducts =
    "g (float[2,3] h, float[2,3] k, float[4,2,3] x, float[3,3] w) => (float[2,3] y, float[2,3] z) {"
    " y, z = Scan (h, k, x) <num_scan_inputs = 1, body = b (float[2,3] s, float[2,3] n, float[2,3] e)"
    " => (float[2,3] t, float[2,3] m) { p = MatMul (e, w) t = Add (s, p) m = Identity (n) }> }";

TEST(LoopPlan, TakesProductsWithAWantedMatrixOutOfTheLoop) {
  EXPECT_EQ(plan_of_scan(kProducts, {false, false, false, true}),
            "carries s (input 0)\n"
            "captures w (input 3)\n"
            "product p = e * input 3\n");
}

TEST(LoopPlan, LeavesProductsWithOtherMatricesInTheLoop) {
  EXPECT_EQ(plan_of_scan(kProducts, {false, false, true, false}),
            "carries s (input 0)\n"
            "slices e (input 2)\n");
}

TEST(LoopPlan, CarriesOnlyStatesThatDependOnWhatIsWanted) {
  EXPECT_EQ(plan_of_scan(kProducts, {false, true, false, false}), "carries n (input 1)\n");
}

TEST(LoopPlan, CarriesStatesThatDependOnOthersIterationsLater) {
  const std::string text =
      "g (float[2] h, float[2] k, float[4,2] x) => (float[2] y, float[2] z) {"
      " y, z = Scan (h, k, x) <num_scan_inputs = 1, body = b (float[2] s, float[2] n, float[2] e)"
      " => (float[2] t, float[2] m) { t = Exp (n) m = Neg (e) }> }";
  EXPECT_EQ(plan_of_scan(text, {false, false, true}),
            "carries s (input 0)\n"
            "carries n (input 1)\n"
            "slices e (input 2)\n");
}

}  // namespace
}  // namespace podium::ir
