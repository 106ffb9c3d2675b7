#include "importer/types_so_far.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importer/import.h"
#include "ir/builder.h"
#include "tests/support/refusal.h"
#include "tests/support/run_text.h"

namespace podium::importer {
namespace {

// y = x + x, then z = y . y
TEST(TypesSoFar, FollowWhatIsRead) {
  ir::Graph graph;
  Scope scope(graph);
  TypesSoFar types(scope);
  const ir::ValueId x = scope.define("x");
  graph[x].type = ir::Type::tensor(ir::DataType::Float, {3, 3});
  graph.inputs = {x};
  EXPECT_EQ(types.of(x), graph[x].type);
  const ir::ValueId y = scope.define("y");
  graph.ops.push_back({.spec = ir::find_op("", "Add"), .inputs = {x, x}, .outputs = {y}});
  EXPECT_EQ(types.of(y), graph[x].type);
  const ir::ValueId z = scope.define("z");
  graph.ops.push_back({.spec = ir::find_op("", "ReduceSum"), .inputs = {y}, .outputs = {z}});
  EXPECT_EQ(types.of(z), ir::Type::tensor(ir::DataType::Float, {1, 1}));
  EXPECT_FALSE(graph[z].type.has_rank);  // the graph itself is inferred when all of it is there
}

TEST(TypesSoFar, OfABodyKnowTheValuesAround) {
  ir::Graph outer;
  Scope outer_scope(outer);
  TypesSoFar around(outer_scope);
  const ir::ValueId x = outer_scope.define("x");
  outer[x].type = ir::Type::tensor(ir::DataType::Float, {5});
  ir::Graph body;
  Scope scope(body, outer_scope, outer_scope);
  TypesSoFar types(scope, &around);
  EXPECT_EQ(types.of(scope.lookup("x")), outer[x].type);
}

TEST(TypesSoFar, NameTheOpThatDoesNotFitItsInputs) {
  const auto read = [] {
    import_text(
        testing::model_text("g (float[2,3] x) => (float[3,3] y) { bad = MatMul (x, x) "
                            "y = com.microsoft.FusedMatMul <transA = 1> (bad, x) }"));
  };
  EXPECT_THAT(testing::refusal(read), ::testing::HasSubstr("'bad' (MatMul)"));
}

}  // namespace
}  // namespace podium::importer
