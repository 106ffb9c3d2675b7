#include "executor/sim/products_beside.h"

#include <gtest/gtest.h>

#include "executor/device/presets.h"
#include "executor/sim/costs.h"
#include "tests/support/hand_made.h"

namespace podium::sim {
namespace {

using executor::CollectiveKind;

// Two devices of a cut tensor; the block runs on device 0, device 1 is like it.
struct Met {
  testing::HandMade made;

  explicit Met(const std::string& text) { block = made.block(text); }
  // From a buffer of each device to another one.
  void meet(CollectiveKind kind, const std::string& from, const std::string& to) {
    executor::GroupCollective exchange{.kind = kind, .transfers = {}};
    for (int member : {0, 1}) {
      for (const std::string& name : {from, to}) {
        if (!seen.insert({name, member}).second) continue;
        made.buffer(name, {64, 64}, member);
      }
      exchange.transfers.push_back({made.slot(from, member), made.slot(to, member)});
    }
    made.step({std::move(exchange)});
  }
  void compute(const std::string& read, const std::string& written) {
    executor::Compute compute{.block = block, .reads = {}, .writes = {}};
    for (const auto& [name, slots] : {std::pair(read, &compute.reads), std::pair(written, &compute.writes)}) {
      if (seen.insert({name, 0}).second) made.buffer(name, {64, 64});
      slots->push_back(made.slot(name));
    }
    made.step({std::move(compute)});
  }

  device::Device device = *device::find_preset("h100");
  executor::BlockId block;
  std::set<std::pair<std::string, int>> seen;

  ir::IdMap<executor::BlockId, BlockCost> costs() const { return costs_of(made.program, device, 0).blocks; }
  /// In order of the steps; -1: beside nothing.
  std::vector<double> seconds() const {
    const ProductsBeside found = products_beside(made.program, costs());
    std::vector<double> all;
    for (const executor::Step& step : made.program.steps) {
      const auto* exchange = std::get_if<executor::GroupCollective>(&step.action);
      if (exchange == nullptr) continue;
      const auto beside = found.find(exchange);
      all.push_back(beside == found.end() ? -1 : beside->second);
    }
    return all;
  }
  /// Of the block's kernels with a product, in their order.
  std::vector<double> products() const {
    std::vector<double> all;
    const auto of_blocks = costs();
    for (const KernelTime& kernel : of_blocks[block].kernels) {
      for (std::int32_t op : kernel.ops) {
        if (made.program[block].graph.ops[op].is("MatMul")) all.push_back(kernel.seconds);
      }
    }
    return all;
  }
};

constexpr const char* kTwoProducts =
    "g (float16[64,64] x) => (float16[64,64] y) <int64[2] turned = {64, 64}> { t = Reshape(x, turned) "
    "a = MatMul(t, t) s = Softmax(a) b = MatMul(s, s) c = MatMul(x, s) d = Softmax(c) e = Add(b, d) "
    "y = Softmax(e) }";

// Both products of x, behind a view and as it is; not the one of what is made of it.
TEST(ProductsBeside, OfAGatherAreThoseThatReadWhatItBrings) {
  Met met(kTwoProducts);
  met.meet(CollectiveKind::AllGather, "part", "x");
  met.compute("x", "y");
  const std::vector<double> products = met.products();
  ASSERT_EQ(products.size(), 3U);
  EXPECT_EQ(met.seconds(), (std::vector<double>{products[0] + products[2]}));
}

constexpr const char* kOneProduct =
    "g (float16[64,64] x) => (float16[64,64] y) { s = Softmax(x) a = MatMul(s, s) r = Relu(a) "
    "y = Transpose(r) }";

TEST(ProductsBeside, OfAReduceScatterAreThoseThatMakeWhatItAddsUp) {
  Met met(kOneProduct);
  met.compute("x", "y");
  met.meet(CollectiveKind::ReduceScatter, "y", "part");
  EXPECT_EQ(met.seconds(), met.products());
}

TEST(ProductsBeside, OfAnAllReduceAreNone) {
  Met met(kOneProduct);
  met.compute("x", "y");
  met.meet(CollectiveKind::AllReduce, "y", "sum");
  EXPECT_EQ(met.seconds(), (std::vector<double>{-1}));
}

TEST(ProductsBeside, OfWhatIsNoProductsAreNone) {
  Met met("g (float16[64,64] x) => (float16[64,64] y) { y = Softmax(x) }");
  met.meet(CollectiveKind::AllGather, "part", "x");
  met.compute("x", "y");
  met.meet(CollectiveKind::ReduceScatter, "y", "share");
  EXPECT_EQ(met.seconds(), (std::vector<double>{-1, -1}));
}

// The gather of x goes beside the product; so the scatter of what it makes does not.
TEST(ProductsBeside, AreThoseOfOneExchangeAtATime) {
  Met met("g (float16[64,64] x) => (float16[64,64] y) { y = MatMul(x, x) }");
  met.meet(CollectiveKind::AllGather, "part", "x");
  met.compute("x", "y");
  met.meet(CollectiveKind::ReduceScatter, "y", "share");
  EXPECT_EQ(met.seconds(), (std::vector<double>{met.products()[0], -1}));
}

TEST(ProductsBeside, HideAllButThePieceThatIsThere) {
  EXPECT_EQ(held_up_seconds(1, 0, 4), 1);
  EXPECT_DOUBLE_EQ(held_up_seconds(1, 100, 4), 0.126);
  EXPECT_DOUBLE_EQ(held_up_seconds(1, 0.8, 4), 1 - 0.6 + 0.126 * 0.6);
}

TEST(ProductsBeside, LetAnExchangeHoldUpLessWhereTheDeviceDoesSo) {
  Met met(kOneProduct);
  met.compute("x", "y");
  met.meet(CollectiveKind::ReduceScatter, "y", "part");
  const auto seconds = [&] {
    return costs_of(met.made.program, met.device, 0).movement(met.made.program.steps[1]).seconds;
  };
  const double beside = seconds();
  met.device.exchanges_beside_products = false;
  const double alone = seconds();
  EXPECT_DOUBLE_EQ(beside, held_up_seconds(alone, met.products()[0], 2));
  EXPECT_LT(beside, alone);
}

}  // namespace
}  // namespace podium::sim
