#include "executor/numeric/observe_types.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::numeric {
namespace {

std::string types_of(const std::string& text, const std::vector<ir::Datum>& inputs) {
  const ir::Graph graph = testing::graph_of(text);
  const auto types = observe_types(graph, inputs);
  std::string found;
  for (const ir::Op& op : graph.ops) {
    for (ir::ValueId id : op.outputs) {
      found += fmt::format("{}: {}\n", graph[id].name, to_string(types[id]));
    }
  }
  return found;
}

TEST(ObserveTypes, SeesWhatOnlyDataDecide) {
  EXPECT_EQ(types_of(R"(g (float[4] x) => (float[2] s) {
    places = NonZero(x)
    columns = Transpose(places)
    chosen = GatherND(x, columns)
    s = Relu(chosen)
  })",
                     {testing::tensor<float>({4}, {0, 1, 0, 2})}),
            "places: int64[1,2]\ncolumns: int64[2,1]\nchosen: float[2]\ns: float[2]\n");
}

TEST(ObserveTypes, SeesWhatABodyGives) {
  EXPECT_EQ(types_of(R"(g (bool c, float[4] x) => (float[N] y) {
    y = If(c) <then_branch = t () => (float[4] a) { a = Relu(x) },
               else_branch = e () => (float[8] b) { b = Concat<axis = 0>(x, x) }>
  })",
                     {testing::tensor<bool>({}, {false}), testing::tensor<float>({4}, {1, 2, 3, 4})}),
            "y: float[8]\n");
}

}  // namespace
}  // namespace podium::numeric
