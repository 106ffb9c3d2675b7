#include "executor/report/model_summary.h"

#include <gtest/gtest.h>

#include "ir/late_tensor.h"
#include "tests/support/graph_text.h"

namespace podium::report {
namespace {

using ir::DataType;
using ir::Tensor;
using ir::Type;

TEST(ModelSummary, CountsParametersAsTheModelHasThem) {
  ir::Graph graph = testing::graph_of("g (float[2,100] x, float[100,8] w) => (y) { y = MatMul(x, w) }");
  const ir::ValueId weights = graph.inputs[1];
  graph.inputs.pop_back();
  const Type type = graph[weights].type;
  graph[weights].constant = Tensor(DataType::Float, type.dims);
  EXPECT_EQ(summarize(graph).parameters, 800);
  EXPECT_EQ(summarize(graph).parameter_bytes, 3200);
  ir::KnownOp made{.op = {.spec = ir::find_op("", "DequantizeLinear")},
                   .inputs = {Tensor(DataType::Uint4, type.dims), Tensor(DataType::Float, {8})}};
  graph[weights].constant = ir::late_tensor(
      type, [type] { return Tensor(DataType::Float, type.dims); }, [](ir::Digests&) { return ir::Digest(); },
      std::make_shared<const ir::KnownOp>(std::move(made)));
  EXPECT_EQ(summarize(graph).parameters, 800);
  EXPECT_EQ(summarize(graph).parameter_bytes, 400 + 32);
}

}  // namespace
}  // namespace podium::report
