// Prepared kernels of fused ops may be run by several threads at once.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <thread>

#include "executor/kernels/tools/kernel.h"
#include "tests/support/fusing.h"

namespace podium::kernels {
namespace {

using testing::random_floats;

// Runs the kernel on x many times over and counts the outputs that are not `expected`.
int count_wrong(const PreparedKernel& run, std::size_t scratch_bytes, const Datum& x, const Datum& weights,
                const Tensor& expected) {
  const std::unique_ptr<std::byte, decltype(&std::free)> scratch(
      static_cast<std::byte*>(std::aligned_alloc(64, (scratch_bytes + 127) / 64 * 64)), std::free);
  Datum y(Tensor(DataType::Float, expected.dims()));
  const std::vector<const Datum*> inputs{&x, &weights};
  const std::vector<Datum*> outputs{&y};
  int wrong = 0;
  for (int i = 0; i < 300; ++i) {
    run({inputs, outputs, scratch.get()});
    if (!identical(y.tensor, expected)) ++wrong;
  }
  return wrong;
}

TEST(FusedMatMul, RunsInSeveralThreadsAtOnce) {
  testing::Sketch s;
  const ir::ValueId weight = s.weight({24, 40});
  const auto result = s.builder.ops("podium", "MatMul", {s.input({6, 24}), weight}, 1);
  PrepareContext context(s.graph, s.graph.ops.back());
  const PreparedKernel run = find_kernel("podium", "MatMul")->prepare(context);
  const Datum weights(*s.graph[weight].constant);
  std::vector<Datum> xs;
  std::vector<Tensor> expected;
  for (int t = 0; t < 4; ++t) {
    xs.emplace_back(random_floats({6, 24}, t));
    expected.push_back(evaluate(s.graph.ops.back(), std::vector<Datum>{xs.back(), weights})[0].tensor);
  }
  std::vector<int> wrong(4, -1);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back(
        [&, t] { wrong[t] = count_wrong(run, context.scratch_bytes, xs[t], weights, expected[t]); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::vector<int>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace podium::kernels
