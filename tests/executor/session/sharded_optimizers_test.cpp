// Every optimizer with its state, its accumulators and the weights in parts over the replicas trains as with
// whole ones (semantics, sections 5.2 and 7.3). No weight divides into equal parts.
#include <gtest/gtest.h>

#include <cmath>

#include "executor/session/training_session.h"
#include "ir/optimizer_spec.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium::testing {
namespace {

constexpr const char* kSharded = R"(agraph (float[2,3] x, float[2,5] wanted) => (float loss)
  <float[3,5] w = {0.1,0.2,0.3,-0.1,0.4, 0.2,0.5,-0.2,0.1,0.3, -0.4,0.1,0.2,0.3,0.1}, float[5] b = {0.1,0.1,0.1,0,0.2}>
  { a = MatMul(x, w) c = Add(a, b) d = Tanh(c) g = Sub(d, wanted) h = Mul(g, g) loss = ReduceMean <keepdims = 0> (h) })";

ir::Tensor sharded_numbers(std::int64_t count, std::size_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.2F * static_cast<float>((5 * i + seed) % 9) - 0.75F;
  return tensor<float>({count}, values);
}

TensorsByName trained_sharded(const ir::Optimizer& optimizer, const Strategy& strategy) {
  TrainingOptions options{.loss = "loss"};
  options.session.strategy = strategy;
  options.optimizer = optimizer;
  TrainingSession session(model_of(kSharded), options);
  const std::int64_t count = std::int64_t{strategy.accumulation_factor} * strategy.replicas;
  for (std::size_t run = 0; run < 3; ++run) {
    const std::vector<ir::Datum> inputs{sharded_numbers(count * 6, run),
                                        sharded_numbers(count * 10, run + 4)};
    session.run(inputs);
  }
  TensorsByName result = session.weights();
  result.merge(session.optimizer_state());
  return result;
}

void expect_near_state(const TensorsByName& found, const TensorsByName& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [name, tensor] : wanted) {
    ASSERT_TRUE(found.contains(name)) << name;
    const auto actual = values<float>(found.at(name));
    const auto expected = values<float>(tensor);
    ASSERT_EQ(actual.size(), expected.size()) << name;
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 2e-6 * std::max(1.0F, std::fabs(expected[i]))) << name << " " << i;
  }
}

// Bits of `choice`: state, weights, accumulators.
Strategy in_parts(Strategy options, int choice) {
  LocationSettings* const settings[] = {&options.optimizer_state, &options.weights, &options.accumulators};
  for (int i = 0; i < 3; ++i) {
    if (((choice >> i) & 1) == 0) continue;
    settings[i]->location.sharded = true;
    settings[i]->min_elements_for_sharding = 2;
  }
  return options;
}

void expect_as_whole(const ir::Optimizer& optimizer, const Strategy& options) {
  const TensorsByName whole = trained_sharded(optimizer, options);
  for (int choice = 1; choice < 8; ++choice) {
    SCOPED_TRACE(fmt::format("choice {}", choice));
    expect_near_state(trained_sharded(optimizer, in_parts(options, choice)), whole);
    if (::testing::Test::HasFailure()) return;
  }
}

// Also where the velocity is what micro-batches accumulate into.
TEST(ShardedOptimizers, SgdInEveryForm) {
  for (const auto state : {ir::SgdState::Combined, ir::SgdState::Separate}) {
    for (const bool nesterov : {false, true}) {
      for (const Reduction reduction : {Reduction::Sum, Reduction::Mean}) {
        for (const MeanStrategy strategy : {MeanStrategy::Post, MeanStrategy::Running}) {
          for (const int accumulation : {1, 3}) {
            for (const int replicas : {2, 4}) {
              SCOPED_TRACE(fmt::format("state {} nesterov {} reduction {} {} accumulation {} replicas {}",
                                       static_cast<int>(state), nesterov, static_cast<int>(reduction),
                                       static_cast<int>(strategy), accumulation, replicas));
              ir::Optimizer optimizer = ir::make_optimizer(
                  "SGD", {{"learningRate", {0.1}}, {"momentum", {0.9}}, {"weightDecay", {0.05}}});
              optimizer.sgd_state = state;
              optimizer.nesterov = nesterov;
              expect_as_whole(optimizer, {.accumulation_factor = accumulation,
                                          .replicas = replicas,
                                          .reduction = reduction,
                                          .mean_strategy = strategy});
              if (::testing::Test::HasFailure()) return;
            }
          }
        }
      }
    }
  }
}

// An eps of 0 divides 0 by 0 in what fills up the last part; nobody may see it, nor add it to a norm.
TEST(ShardedOptimizers, OthersWithAndWithoutAnEps) {
  for (const ir::OptimizerSpec* spec : ir::all_optimizers()) {
    if (spec->name == "SGD") continue;
    // The spread of one gradient about its mean is 0 but for rounding.
    const bool needs_eps = spec->name == "CenteredRMSProp";
    for (const double eps : {1e-3, needs_eps ? 1e-4 : 0.0}) {
      for (const int accumulation : {1, 3}) {
        for (const bool clips : {false, true}) {
          SCOPED_TRACE(
              fmt::format("{} eps {} accumulation {} clips {}", spec->name, eps, accumulation, clips));
          ir::Optimizer optimizer =
              ir::make_optimizer(*spec, {{"learningRate", {0.01}}, {"weightDecay", {0.05}}});
          if (spec->find_value("eps") != nullptr) optimizer.defaults["eps"].value = eps;
          if (clips) optimizer.clip_norms = {{.max_norm = 0.2}};
          expect_as_whole(optimizer, {.accumulation_factor = accumulation, .replicas = 4});
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace podium::testing
