#include "executor/sim/cache_reuse.h"

#include <gtest/gtest.h>

#include "ir/training.h"
#include "tests/support/graph_text.h"

namespace podium::sim {
namespace {

// A kernel an op. Each tensor has 400 bytes.
std::vector<std::int64_t> cached(const std::string& ops, std::int64_t cache_bytes,
                                 const std::string& outputs = "float[100] y") {
  const ir::Graph graph = testing::graph_of("g (float[100] x) => (" + outputs + ") { " + ops + " }");
  std::vector<DeviceKernel> kernels;
  for (const ir::Op& op : graph.ops) kernels.push_back({&op});
  return cached_bytes(graph, kernels, cache_bytes);
}

using Bytes = std::vector<std::int64_t>;

TEST(CacheReuse, IsOfAllWhereAllThatIsTouchedFits) {
  EXPECT_EQ(cached("a = Relu(x) y = Tanh(a)", 1600), (Bytes{800, 800}));
}

TEST(CacheReuse, IsOfWhatTheNextKernelReads) {
  EXPECT_EQ(cached("a = Relu(x) b = Tanh(a) c = Relu(b) d = Tanh(c) y = Relu(d)", 1000),
            (Bytes{400, 800, 800, 800, 400}));
}

TEST(CacheReuse, EndsWhereTooMuchIsTouchedBetween) {
  const std::string ops = "a = Relu(x) b = Tanh(x) c = Relu(b) y = Add(a, c)";
  EXPECT_EQ(cached(ops, 2400), (Bytes{400, 800, 800, 800}));
  EXPECT_EQ(cached(ops, 2399), (Bytes{400, 800, 800, 400}));
}

TEST(CacheReuse, IsOfResultsThatAreReadSoonOrWhoseMemoryIsStillThere) {
  const std::string ops = "a = Relu(x) y = Tanh(x)";
  EXPECT_EQ(cached(ops, 1600, "float[100] a, float[100] y"), (Bytes{800, 800}));
  EXPECT_EQ(cached(ops, 1599, "float[100] a, float[100] y"), (Bytes{400, 400}));
}

TEST(CacheReuse, CountsNothingThatStaysInsideOfAKernel) {
  const ir::Graph graph =
      testing::graph_of("g (float[100] x) => (float[100] y) { a = Relu(x) b = Tanh(a) y = Relu(b) }");
  const DeviceKernel all{&graph.ops[0], &graph.ops[1], &graph.ops[2]};
  EXPECT_EQ(cached_bytes(graph, {all}, 800), (Bytes{800}));
  EXPECT_EQ(cached_bytes(graph, {all}, 799), (Bytes{0}));
}

// 400 bytes each of a weight and its gradient, and the new weight in place of the old one.
TEST(CacheReuse, OfAnUpdateIsThatOfItsStatesOnce) {
  ir::Graph graph =
      testing::graph_of("g (float[100] w, float[100] x) => (float[100] v) { s = Mul(x, x) v = Sub(w, s) }");
  const auto found = [&](std::int64_t cache_bytes) {
    const DeviceKernel all{&graph.ops[0], &graph.ops[1]};
    return cached_bytes(graph, {all}, cache_bytes);
  };
  EXPECT_EQ(found(1200), (Bytes{1200}));
  EXPECT_EQ(found(1199), (Bytes{0}));
  for (ir::Op& op : graph.ops) ir::set_attribute(op, ir::kContextAttribute, ir::kOuterContext);
  EXPECT_EQ(found(800), (Bytes{1200}));
  EXPECT_EQ(found(799), (Bytes{400}));
}

}  // namespace
}  // namespace podium::sim
