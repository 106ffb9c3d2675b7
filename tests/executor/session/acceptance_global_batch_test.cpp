// One global batch of 16 samples in every factorisation that PopART tests (semantics, section 15, row 16):
// samples of a slice x slices of a micro-batch x micro-batches x replicas. Outputs, loss, weights and
// optimizer state are those of 16 x 1 x 1 x 1.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "executor/session/check_options.h"
#include "tests/executor/session/acceptance.h"
#include "tests/executor/session/reference_network.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

using ir::Optimizer;

constexpr int kGlobalBatch = 16;

struct Factors {
  int samples, slices, micro_batches, replicas;
};
constexpr Factors kWhole{16, 1, 1, 1};
constexpr std::array kFactorisations{Factors{4, 1, 1, 4}, Factors{4, 1, 4, 1}, Factors{4, 4, 1, 1},
                                     Factors{4, 1, 2, 2}, Factors{2, 2, 2, 2}};

enum class GlobalWay { Sum, MeanRunning, MeanPost };

std::vector<std::pair<std::string, Optimizer>> optimizers() {
  const ir::OptimizerValues momentum{{"learningRate", {0.02}}, {"momentum", {0.9}}, {"weightDecay", {0.01}}};
  std::vector<std::pair<std::string, Optimizer>> all{
      {"SGD", ir::make_optimizer("SGD", {{"learningRate", {0.02}}, {"weightDecay", {0.01}}})},
      {"SGDM1", ir::make_optimizer("SGD", momentum)},
      {"SGDM2", ir::make_optimizer("SGD", momentum)},
      {"AdamNoBias", ir::make_optimizer("AdamNoBias", {{"learningRate", {0.01}}})}};
  all[2].second.sgd_state = ir::SgdState::Separate;
  return all;
}

struct GlobalResult {
  std::vector<float> y;
  std::vector<double> losses;  ///< of the global batches
  TensorsByName tensors;       ///< weights and state
};

void spread(Strategy& strategy, int processors, bool pipelining) {
  if (processors == 1) return;
  strategy.virtual_graph_mode = VirtualGraphMode::Auto;
  strategy.ipus = processors * strategy.replicas;
  strategy.pipelining = pipelining;
}

TrainingOptions options_of(const Factors& factors, const Optimizer& optimizer, GlobalWay way) {
  Strategy strategy{.accumulation_factor = factors.micro_batches, .replicas = factors.replicas};
  strategy.batch_serialization.factor = factors.slices > 1 ? factors.slices : 0;
  strategy.reduction = way == GlobalWay::Sum ? Reduction::Sum : Reduction::Mean;
  strategy.mean_strategy = way == GlobalWay::MeanRunning ? MeanStrategy::Running : MeanStrategy::Post;
  TrainingOptions options = training_with(strategy, 1);
  options.optimizer = optimizer;
  return options;
}

GlobalResult trained(const Factors& factors, GlobalWay way, const TrainingOptions& options) {
  TrainingSession session(reference_model(factors.samples * factors.slices, way != GlobalWay::Sum), options);
  GlobalResult result;
  for (int step = 0; step < 3; ++step) {
    const std::vector<float> x = reference_samples(kGlobalBatch, step);
    const std::vector<ir::Datum> inputs{input_of(x)};
    const auto outputs = session.run(inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::vector<float> numbers = values<float>(outputs[i].tensor);
      if (session.outputs()[i].name == "y") {
        result.y.insert(result.y.end(), numbers.begin(), numbers.end());
      } else {
        const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
        result.losses.push_back(way == GlobalWay::Sum ? sum : sum / static_cast<double>(numbers.size()));
      }
    }
  }
  result.tensors = session.weights();
  result.tensors.merge(session.optimizer_state());
  return result;
}

template <class Values>
void expect_close(const Values& found, const Values& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(found[i], wanted[i], 1e-5 + 1e-5 * std::fabs(wanted[i])) << i;
  }
}

void expect_close(const GlobalResult& found, const GlobalResult& wanted) {
  expect_close(found.y, wanted.y);
  expect_close(found.losses, wanted.losses);
  ASSERT_EQ(found.tensors.size(), wanted.tensors.size());
  for (const auto& [name, tensor] : wanted.tensors) {
    SCOPED_TRACE(name);
    expect_close(values<float>(found.tensors.at(name)), values<float>(tensor));
  }
}

TEST(AcceptanceGlobalBatch, EveryFactorisationTrainsAlikeInEveryPlace) {
  int compared = 0;
  for (const auto& [name, optimizer] : optimizers()) {
    for (const GlobalWay way : {GlobalWay::Sum, GlobalWay::MeanRunning, GlobalWay::MeanPost}) {
      const GlobalResult whole = trained(kWhole, way, options_of(kWhole, optimizer, way));
      for (const Factors& factors : kFactorisations) {
        for (const auto& [processors, pipelining] :
             {std::pair(1, false), std::pair(2, false), std::pair(2, true)}) {
          SCOPED_TRACE(fmt::format("{} way {} {}x{}x{}x{} on {} pipelined {}", name, static_cast<int>(way),
                                   factors.samples, factors.slices, factors.micro_batches, factors.replicas,
                                   processors, pipelining));
          TrainingOptions options = options_of(factors, optimizer, way);
          spread(options.session.strategy, processors, pipelining);
          constexpr int kStages = 3;  // of two processors, forth and back
          const bool fills = !pipelining || factors.micro_batches >= kStages;
          if (!fills || why_illegal(options.session.strategy)) continue;
          expect_close(trained(factors, way, options), whole);
          ++compared;
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
  EXPECT_EQ(compared, 4 * 3 * (5 + 5 + 1));
}

}  // namespace
}  // namespace podium::testing
