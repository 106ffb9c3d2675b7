#include "executor/numeric/memory_pool.h"

#include <gtest/gtest.h>

#include "tests/support/run_text.h"

namespace podium::numeric {
namespace {

using ir::Tensor;
using testing::tensor;

TEST(MemoryPool, GivesOutAgainWhatNobodyHolds) {
  MemoryPool pool;
  const void* first = nullptr;
  {
    const Tensor held = pool.take(ir::DataType::Float, {100});
    first = held.raw();
    EXPECT_NE(pool.take(ir::DataType::Float, {100}).raw(), first);
  }
  EXPECT_EQ(pool.take(ir::DataType::Int8, {400}).raw(), first);
}

TEST(MemoryPool, MayGoBeforeItsTensors) {
  Tensor left;
  {
    MemoryPool pool;
    left = pool.copy(tensor<float>({2}, {1, 2}));
  }
  EXPECT_EQ(left.data<float>()[1], 2);
}

}  // namespace
}  // namespace podium::numeric
