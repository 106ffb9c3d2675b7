// Heads that devices do not divide, and columns of unlike widths: cut over devices a model gives the numbers
// of one processor, and trains as it does.
#include <gtest/gtest.h>

#include "tests/executor/session/acceptance.h"
#include "tests/support/text_model.h"

namespace podium::testing {
namespace {

struct HeadCase {
  const char* name;
  int queries;
  int keys;
  bool side_by_side;  ///< columns of queries, keys and values in one weight
};

constexpr int kHead = 2;
constexpr int kTokens = 3;

importer::Model attention_of(const HeadCase& one) {
  std::mt19937 random(5);
  std::string weights;
  const auto add = [&](const std::string& name, std::int64_t rows, std::int64_t columns) {
    weights += (weights.empty() ? "" : ", ") +
               initializer(name, {rows, columns}, random_numbers(random, rows * columns, -0.5, 0.5));
  };
  const std::int64_t q = std::int64_t{kHead} * one.queries;
  const std::int64_t kv = std::int64_t{kHead} * one.keys;
  std::string products;
  if (one.side_by_side) {
    add("w", 4, q + 2 * kv);
    weights += fmt::format(", int64[3] sizes = {{{}, {}, {}}}", q, kv, kv);
    products = "all = MatMul(x, w) q, k, v = Split <axis = 2> (all, sizes) ";
  } else {
    add("wq", 4, q);
    add("wk", 4, kv);
    add("wv", 4, kv);
    products = "q = MatMul(x, wq) k = MatMul(x, wk) v = MatMul(x, wv) ";
  }
  add("wo", q, 4);
  return model_of(
      fmt::format("agraph (float[2,{},4] x) => (float loss) <{}> {{ {}"
                  "a = Attention <q_num_heads = {}, kv_num_heads = {}> (q, k, v) "
                  "y = MatMul(a, wo) s = Mul(y, y) loss = ReduceSum <keepdims = 0> (s) }}",
                  kTokens, weights, products, one.queries, one.keys));
}

TEST(UnevenHeads, TrainAsOneProcessorDoes) {
  for (const HeadCase& one : {HeadCase{"fewer than devices", 2, 2, false},
                              {"shared by queries", 6, 3, false},
                              {"one key", 3, 1, false},
                              {"side by side", 4, 2, true},
                              {"side by side, uneven", 6, 3, true}}) {
    std::mt19937 random(9);
    const std::vector<ir::Datum> inputs{random_tensor(random, {2, kTokens, 4}, -1, 1)};
    const auto trained = [&](int devices) {
      Strategy strategy{.ipus = devices};
      strategy.tensor_parallel.devices = devices;
      TrainingOptions options = training_with(strategy, 0.1);
      options.loss = "loss";
      return train(attention_of(one), options, {inputs, inputs});
    };
    const Trained alone = trained(1);
    for (int devices = 2; devices <= 5; ++devices) {
      SCOPED_TRACE(fmt::format("{}, {} devices", one.name, devices));
      const Trained cut = trained(devices);
      EXPECT_LT(distance(cut.outputs.at("loss"), alone.outputs.at("loss")), 1e-4);
      for (const auto& [name, weight] : alone.weights)
        EXPECT_LT(distance(cut.weights.at(name), weight), 1e-4) << name;
    }
  }
}

}  // namespace
}  // namespace podium::testing
