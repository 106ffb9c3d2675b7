// PopART's ops between replicas: their numbers, and derivatives of what all replicas lose, in every way to
// run them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "executor/session/session.h"
#include "executor/session/training_session.h"
#include "tests/importer/by_hand.h"
#include "tests/support/text_model.h"

namespace podium {
namespace {

using testing::Doubles;
using testing::model_of;
using testing::tensor;
using PerReplica = std::vector<Doubles>;
using ReplicaGroups = std::vector<std::vector<std::size_t>>;

std::map<std::string, Strategy> every_way(int replicas) {
  const Strategy alone{.replicas = replicas};
  std::map<std::string, Strategy> ways{
      {"alone", alone}, {"sharded", alone}, {"pipelined", alone}, {"phased", alone}, {"off chip", alone}};
  for (const char* way : {"sharded", "pipelined"}) {
    ways[way].virtual_graph_mode = VirtualGraphMode::Auto;
    ways[way].ipus = 2 * replicas;
  }
  ways["pipelined"].pipelining = true;
  ways["pipelined"].batches_per_step = 3;
  ways["phased"].virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  ways["phased"].phases.phases = 2;
  ways["off chip"].weights.location.storage = ir::Storage::OffChip;
  ways["off chip"].weights.min_elements_for_off_chip = 0;
  return ways;
}

// Element i of a micro-batch of a replica.
double given(std::size_t replica, std::size_t micro_batch, std::size_t i) {
  return static_cast<double>((7 * i + 5 * replica + 3 * micro_batch) % 11) / 4 - 1;
}

PerReplica given_to(std::size_t replicas, std::size_t micro_batch, std::size_t elements) {
  PerReplica x(replicas);
  for (std::size_t r = 0; r < replicas; ++r) {
    for (std::size_t i = 0; i < elements; ++i) x[r].push_back(given(r, micro_batch, i));
  }
  return x;
}

using Expected = std::function<PerReplica(const PerReplica&)>;

// Runs `y = op(-x)` with x of [3, 2] in every way; in the arrays the replicas of a micro-batch follow each
// other.
void expect_exchanged(const std::string& op, std::size_t replicas, const Expected& expected) {
  const std::string text =
      "g (float[3,2] x) => (float[] y) { h = Add(x, x) a = Sub(x, h) y = ai.graphcore." + op + "(a) }";
  for (const auto& [name, strategy] : every_way(static_cast<int>(replicas))) {
    SCOPED_TRACE(op + ", " + std::to_string(replicas) + " replicas, " + name);
    const auto batches = static_cast<std::size_t>(strategy.batches_per_step);
    std::vector<float> x(replicas * batches * 6);
    Doubles wanted;
    std::vector<PerReplica> results;
    for (std::size_t b = 0; b < batches; ++b) {
      PerReplica one = given_to(replicas, b, 6);
      for (std::size_t r = 0; r < replicas; ++r) {
        for (std::size_t i = 0; i < 6; ++i) {
          x[(b * replicas + r) * 6 + i] = static_cast<float>(one[r][i]);
          one[r][i] = -one[r][i];
        }
      }
      results.push_back(expected(one));
    }
    for (const PerReplica& one : results) {
      for (const Doubles& of_replica : one) wanted.insert(wanted.end(), of_replica.begin(), of_replica.end());
    }
    SessionOptions options;
    options.strategy = strategy;
    options.clock = true;
    InferenceSession session(model_of(text), options);
    ASSERT_NE(session.timeline(), nullptr);
    const auto found = session.run(std::vector<ir::Datum>{tensor<float>({std::ssize(x) / 2, 2}, x)});
    const auto values = testing::values<float>(found[0]);
    ASSERT_EQ(values.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(values[i], wanted[i], 1e-5) << i;
  }
}

ReplicaGroups all_of(std::size_t replicas) {
  ReplicaGroups groups(1);
  for (std::size_t r = 0; r < replicas; ++r) groups[0].push_back(r);
  return groups;
}

PerReplica for_each_group(const ReplicaGroups& groups, const PerReplica& x,
                          const std::function<Doubles(const PerReplica&, std::size_t rank)>& result) {
  PerReplica y(x.size());
  for (const auto& group : groups) {
    PerReplica members;
    for (const std::size_t r : group) members.push_back(x[r]);
    for (std::size_t rank = 0; rank < group.size(); ++rank) y[group[rank]] = result(members, rank);
  }
  return y;
}

using Combine = std::function<double(double, double)>;

Doubles combined(const PerReplica& members, const Combine& combine, bool is_mean) {
  Doubles sum = members[0];
  for (std::size_t m = 1; m < members.size(); ++m) sum = testing::both(sum, members[m], combine);
  for (double& value : sum) value /= is_mean ? static_cast<double>(members.size()) : 1;
  return sum;
}

Doubles part_of(const Doubles& whole, std::size_t rank, std::size_t parts) {
  const std::size_t size = (whole.size() + parts - 1) / parts;
  Doubles part(size);
  for (std::size_t i = 0; i < size && rank * size + i < whole.size(); ++i) part[i] = whole[rank * size + i];
  return part;
}

Doubles joined_of(const PerReplica& members) {
  Doubles all;
  for (const Doubles& one : members) all.insert(all.end(), one.begin(), one.end());
  return all;
}

struct Operator {
  int number = 0;
  Combine combine = std::plus<>();
  bool is_mean = false;
};

const std::vector<Operator>& operators() {
  static const std::vector<Operator> kAll{{0},
                                          {1, std::plus<>(), true},
                                          {2, std::multiplies<>()},
                                          {3, [](double a, double b) { return std::min(a, b); }},
                                          {4, [](double a, double b) { return std::max(a, b); }}};
  return kAll;
}

class PopartCollectives : public ::testing::TestWithParam<std::size_t> {};

TEST_P(PopartCollectives, ReduceOverAllReplicas) {
  for (const Operator& by : operators()) {
    for (const char* type : {"ReplicatedAllReduce", "ReplicatedAllReduceInplace"}) {
      expect_exchanged(std::string(type) + " <__collectiveOperator = " + std::to_string(by.number) + "> ",
                       GetParam(), [&](const PerReplica& x) {
                         return for_each_group(all_of(x.size()), x,
                                               [&](const PerReplica& members, std::size_t) {
                                                 return combined(members, by.combine, by.is_mean);
                                               });
                       });
    }
  }
}

TEST_P(PopartCollectives, ScatterWhatTheyReduce) {
  for (const Operator& by : operators()) {
    expect_exchanged("ReplicatedReduceScatter <__collectiveOperator = " + std::to_string(by.number) + "> ",
                     GetParam(), [&](const PerReplica& x) {
                       return for_each_group(
                           all_of(x.size()), x, [&](const PerReplica& members, std::size_t rank) {
                             return part_of(combined(members, by.combine, by.is_mean), rank, members.size());
                           });
                     });
  }
}

TEST_P(PopartCollectives, AddSquares) {
  expect_exchanged("ReplicatedAllReduce <__collectiveOperator = 7> ", GetParam(), [](const PerReplica& x) {
    return for_each_group(all_of(x.size()), x, [](PerReplica members, std::size_t) {
      for (Doubles& one : members) one = testing::each(one, [](double v) { return v * v; });
      return combined(members, std::plus<>(), false);
    });
  });
}

TEST_P(PopartCollectives, KeepWhatIsLocal) {
  expect_exchanged("ReplicatedAllReduce <__collectiveOperator = 8> ", GetParam(),
                   [](const PerReplica& x) { return x; });
  expect_exchanged(
      "ReplicatedReduceScatter <__collectiveOperator = 8> ", GetParam(), [](const PerReplica& x) {
        return for_each_group(all_of(x.size()), x, [](const PerReplica& members, std::size_t rank) {
          return part_of(members[rank], rank, members.size());
        });
      });
}

TEST_P(PopartCollectives, GatherInTheOrderOfTheReplicas) {
  expect_exchanged("ReplicatedAllGather ", GetParam(), [](const PerReplica& x) {
    return for_each_group(all_of(x.size()), x,
                          [](const PerReplica& members, std::size_t) { return joined_of(members); });
  });
}

INSTANTIATE_TEST_SUITE_P(Replicas, PopartCollectives, ::testing::Values(1U, 2U, 4U));

Doubles sum_of_group(const PerReplica& members, std::size_t) {
  return combined(members, std::plus<>(), false);
}

void expect_met(const std::string& attribute, const ReplicaGroups& groups, std::size_t replicas) {
  const std::string with = " <" + attribute + "> ";
  expect_exchanged("ReplicatedAllReduce" + with, replicas,
                   [&](const PerReplica& x) { return for_each_group(groups, x, sum_of_group); });
  expect_exchanged("ReplicatedAllGather" + with, replicas, [&](const PerReplica& x) {
    return for_each_group(groups, x,
                          [](const PerReplica& members, std::size_t) { return joined_of(members); });
  });
  expect_exchanged("ReplicatedReduceScatter" + with, replicas, [&](const PerReplica& x) {
    return for_each_group(groups, x, [](const PerReplica& members, std::size_t rank) {
      return part_of(combined(members, std::plus<>(), false), rank, members.size());
    });
  });
}

TEST(PopartCollectivesOfGroups, MeetInGroupsOfEachType) {
  expect_met("__collectiveCommGroup = [1, 2]", {{0, 1}, {2, 3}}, 4);
  expect_met("__collectiveCommGroup = [2, 2]", {{0, 2}, {1, 3}}, 4);
  expect_met("__collectiveCommGroup = [2, 4]", {{0, 2, 4, 6}, {1, 3, 5, 7}}, 8);
  expect_met("__collectiveCommGroup = [3, 0]", {{0}, {1}, {2}, {3}}, 4);
}

// A group is the first replica that has none yet, and those that each lie a stride behind the one before.
ReplicaGroups groups_with_stride(std::size_t replicas, std::size_t stride, std::size_t size) {
  ReplicaGroups groups;
  std::set<std::size_t> grouped;
  for (std::size_t first = 0; first < replicas; ++first) {
    if (grouped.contains(first)) continue;
    auto& group = groups.emplace_back();
    for (std::size_t i = 0; i < size; ++i) group.push_back(first + i * stride);
    grouped.insert(group.begin(), group.end());
  }
  return groups;
}

TEST(PopartCollectivesOfGroups, MeetAtEveryStrideThatTilesTheReplicas) {
  for (const std::size_t replicas : {4U, 8U}) {
    for (std::size_t size = 2; size <= replicas; size *= 2) {
      for (std::size_t stride = 1; stride * size <= replicas; stride *= 2) {
        expect_met("__collectiveReplicaGrouping = [" + std::to_string(replicas) + ", " +
                       std::to_string(stride) + ", " + std::to_string(size) + "]",
                   groups_with_stride(replicas, stride, size), replicas);
      }
    }
  }
}

TEST(PopartCollectivesOfGroups, CombineBoolsByTheirLogic) {
  const auto run = [](int by) {
    SessionOptions options;
    options.strategy.replicas = 2;
    InferenceSession session(model_of("g (bool[4] x) => (bool[] y) { y = ai.graphcore.ReplicatedAllReduce "
                                      "<__collectiveOperator = " +
                                      std::to_string(by) + ">(x) }"),
                             options);
    ir::Tensor x(ir::DataType::Bool, {8});
    for (std::int64_t i = 0; i < 8; ++i) x.data<bool>()[i] = i < 4 ? i % 2 == 1 : i / 2 == 3;
    const auto y = session.run(std::vector<ir::Datum>{x});
    std::string text;
    for (const bool value : testing::values<bool>(y[0])) text += value ? '1' : '0';
    return text;
  };
  EXPECT_EQ(run(5), "00010001");
  EXPECT_EQ(run(6), "01110111");
}

// A weight w that all replicas share, and a loss that sees what they exchange.
std::string losing(const std::string& exchange, const Doubles& w) {
  std::string numbers;
  for (const double value : w) numbers += (numbers.empty() ? "" : ", ") + std::to_string(value);
  return "g (float[3,2] x, float[1] c) => (float loss) <float[3,2] w = {" + numbers +
         "}> {\n a = Mul(x, w)\n r = " + exchange +
         "\n s = Mul(r, r)\n t = Mul(s, c)\n loss = ReduceSum<keepdims = 0>(t)\n}";
}

std::vector<ir::Datum> inputs_of(std::size_t replicas, std::size_t batches) {
  std::vector<float> x;
  std::vector<float> c;
  for (std::size_t b = 0; b < batches; ++b) {
    for (std::size_t r = 0; r < replicas; ++r) {
      for (std::size_t i = 0; i < 6; ++i) x.push_back(static_cast<float>(given(r, b, i)));
      c.push_back(0.5F + static_cast<float>(r) + 0.25F * static_cast<float>(b));
    }
  }
  return {tensor<float>({std::ssize(x) / 2, 2}, x), tensor<float>({std::ssize(c)}, c)};
}

double lost(const std::string& exchange, const Doubles& w, std::size_t replicas, std::size_t batches) {
  SessionOptions options;
  options.strategy.replicas = static_cast<int>(replicas);
  options.strategy.batches_per_step = static_cast<int>(batches);
  InferenceSession session(model_of(losing(exchange, w)), options);
  double sum = 0;
  const auto found = session.run(inputs_of(replicas, batches));
  for (const float one : testing::values<float>(found[0])) sum += one;
  return sum;
}

void expect_trained(const std::string& exchange, std::size_t replicas) {
  constexpr double kStep = 1.0 / 16;
  const Doubles w{0.5, -0.25, 1, 0.75, -1, 1.25};
  for (auto [name, strategy] : every_way(static_cast<int>(replicas))) {
    SCOPED_TRACE(exchange + ", " + std::to_string(replicas) + " replicas, " + name);
    strategy.accumulation_factor = std::exchange(strategy.batches_per_step, 1);
    TrainingOptions options{.loss = "loss"};
    options.session.strategy = strategy;
    options.optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.001, false}}});
    TrainingSession session(model_of(losing(exchange, w)), options);
    const auto batches = static_cast<std::size_t>(strategy.accumulation_factor);
    session.run(inputs_of(replicas, batches));
    const ir::Tensor trained = session.weights().at("w");
    for (std::size_t i = 0; i < w.size(); ++i) {
      Doubles more = w;
      Doubles less = w;
      more[i] += kStep;
      less[i] -= kStep;
      // Of squares, central differences are exact.
      const double slope =
          (lost(exchange, more, replicas, batches) - lost(exchange, less, replicas, batches)) / (2 * kStep);
      EXPECT_NEAR((w[i] - trained.data<float>()[i]) / 0.001, slope, 2e-2) << i;
    }
  }
}

TEST(PopartCollectivesThatTrain, AreDifferentiatedOverAllReplicas) {
  const std::string op = "ai.graphcore.Replicated";
  for (const std::size_t replicas : {1U, 2U, 4U}) {
    expect_trained(op + "AllReduce(a)", replicas);
    expect_trained(op + "AllReduce<__collectiveOperator = 1>(a)", replicas);
    expect_trained(op + "AllReduce<__collectiveOperator = 4>(a)", replicas);
    expect_trained(op + "AllGather(a)", replicas);
    expect_trained(op + "ReduceScatter(a)", replicas);
    expect_trained(op + "ReduceScatter<__collectiveOperator = 1>(a)", replicas);
    expect_trained(op + "ReduceScatter<__collectiveOperator = 4>(a)", replicas);
    expect_trained(op + "ReduceScatter<__collectiveOperator = 8>(a)", replicas);
  }
  expect_trained(op + "AllReduce<__collectiveCommGroup = [1, 2]>(a)", 4);
  for (const char* exchange :
       {"AllReduce<", "AllGather<", "ReduceScatter<", "ReduceScatter<__collectiveOperator = 8, "}) {
    expect_trained(op + exchange + "__collectiveReplicaGrouping = [8, 2, 2]>(a)", 8);
  }
}

std::string why_refused(const std::string& text, int replicas) {
  SessionOptions options;
  options.strategy.replicas = replicas;
  try {
    const InferenceSession session(model_of(text), options);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string reduced(const std::string& attributes) {
  return "g (float[2] x) => (float[] y) { y = ai.graphcore.ReplicatedAllReduce <" + attributes + ">(x) }";
}

TEST(PopartCollectivesThatDoNotFit, SayWhatIsNeeded) {
  using ::testing::HasSubstr;
  EXPECT_THAT(why_refused(reduced("__collectiveOperator = 9"), 2), HasSubstr("is 9, 0 to 8 needed"));
  EXPECT_THAT(why_refused(reduced("__collectiveCommGroup = [1, 3]"), 4),
              HasSubstr("groups of 3 replicas found, a size that divides 4 replicas needed"));
  EXPECT_THAT(why_refused(reduced("__collectiveReplicaGrouping = [8, 1, 2]"), 4),
              HasSubstr("4 replicas found, 8 needed, which its groups are of (--replicas 8)"));
  EXPECT_THAT(why_refused(reduced("__collectiveReplicaGrouping = [8, 3, 2]"), 8),
              HasSubstr("stride 3 found, a divisor of 4 needed, the number of groups of 2 of 8 replicas"));
  EXPECT_THAT(
      why_refused(reduced("__collectiveReplicaGrouping = [4, 1, 2], __collectiveCommGroup = [1, 2]"), 4),
      HasSubstr("one of them needed"));
  EXPECT_THAT(why_refused(reduced("__collectiveOperator = 5"), 2), HasSubstr("bool needed"));
  const std::string in_body =
      "g (float[2] x, bool c) => (float[] y) { y = If (c) <then_branch = t () => (float[2] a) "
      "{ a = ai.graphcore.ReplicatedAllReduce(x) }, else_branch = e () => (float[2] b) { b = Neg(x) }> }";
  EXPECT_THAT(why_refused(in_body, 2), HasSubstr("its place is outside of If, Loop and Scan"));
  EXPECT_EQ(why_refused(in_body, 1), "");
}

}  // namespace
}  // namespace podium
