// Models that say how tensors are cut over devices: what they say is read and shown, and they are run and
// trained over the devices beside one processor. Each value has to be that of one processor, but for the
// order in which the parts of a sum are added up.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "executor/cli/device_configurations.h"
#include "executor/compare/oracle.h"
#include "importer/sharding.h"
#include "tests/fuzz/small_model.h"
#include "tests/fuzz/target.h"

namespace podium::fuzz {
namespace {

// A few bytes may ask for many devices, each of which has ops of its own.
constexpr std::int64_t kMostDevices = 8;

Corpus models_over_devices() {
  Corpus corpus = corpus_files("devices");
  for (std::string& model : cut_models(std::size_t{2} << 10)) corpus.push_back(std::move(model));
  return corpus;
}

/// A model and its first configuration.
struct OverDevices {
  importer::Model model;
  std::string configuration;
};

std::optional<OverDevices> read_small(const std::string& bytes) {
  std::optional<importer::Model> model = small_model(bytes);
  if (!model) return std::nullopt;
  const importer::Sharding sharding = importer::read_sharding(*model);
  if (sharding.configurations.empty()) return std::nullopt;
  const importer::DeviceConfiguration& first = sharding.configurations[0];
  cli::table_of(cli::shard_rows(*model, sharding, first.name));
  if (first.devices > kMostDevices) return std::nullopt;
  return OverDevices{.model = std::move(*model), .configuration = first.name};
}

compare::InputsOfStep inputs_with(const IdCounts& ids) {
  return [&ids](int step, const std::vector<executor::HostTensor>& inputs) {
    return random_inputs(inputs, ids, 1, static_cast<std::uint64_t>(step) + 1);
  };
}

// Where each op is right by itself, a weight may move as far as results did from which it learns: those of a
// norm of equal numbers are what rounding leaves of them, and of what overflows in one order nothing is
// known.
bool learns_from_what_has_moved(const report::OracleVerdict& verdict) {
  const report::Parting& weight = *verdict.parting;
  return weight.op.empty() && std::ranges::any_of(verdict.explained, [&](const report::Reassociation& one) {
           return std::isinf(one.bound) || one.difference > std::fabs(weight.found - weight.expected);
         });
}

void expect_numbers_of_one(const report::OracleVerdict& verdict) {
  if (verdict.judgement() != report::Judgement::Parts || learns_from_what_has_moved(verdict)) return;
  throw std::logic_error(sentence(verdict));
}

void run_over_devices(const std::string& bytes, Strategy strategy) {
  const std::optional<OverDevices> given = read_small(bytes);
  if (!given) return;
  SessionOptions one = compare::watching({.threads = 1});
  one.strategy.batches_per_step = strategy.batches_per_step;
  InferenceSession plain(given->model, one);
  SessionOptions several = one;
  several.strategy = std::move(strategy);
  several.strategy.device_configuration = given->configuration;
  InferenceSession session(given->model, several);
  const compare::InputsOfStep inputs_of_step = inputs_with(plain.ids());
  const compare::PlainSteps steps = compare::run_plainly(plain, 1, inputs_of_step);
  expect_numbers_of_one(compare::judge(session, steps, inputs_of_step, {.threads = 1}));
}

Strategy in_stages() {
  Strategy strategy;
  strategy.virtual_graph_mode = VirtualGraphMode::Manual;
  strategy.pipelining = true;
  strategy.batches_per_step = 3;
  return strategy;
}

// A step, so that what rounding leaves of a gradient is not multiplied by steps of an optimizer.
void train_over_devices(const std::string& bytes) {
  std::optional<OverDevices> given = read_small(bytes);
  if (!given) return;
  TrainingOptions one{.session = compare::watching({.threads = 1}), .loss = add_any_loss(given->model)};
  TrainingSession plain(given->model, one);
  TrainingOptions several = one;
  several.session.strategy.device_configuration = given->configuration;
  TrainingSession session(given->model, several);
  const compare::InputsOfStep inputs_of_step = inputs_with(plain.ids());
  const compare::PlainSteps steps = compare::run_plainly(plain, 1, inputs_of_step);
  expect_numbers_of_one(compare::judge(session, steps, inputs_of_step, {.threads = 1}));
}

}  // namespace

std::vector<Target> device_targets() {
  return {
      {"devices", models_over_devices, mutate_model,
       [](const std::string& bytes) { run_over_devices(bytes, {}); }},
      {"devices-in-stages", models_over_devices, mutate_model,
       [](const std::string& bytes) { run_over_devices(bytes, in_stages()); }},
      {"devices-train", models_over_devices, mutate_model, train_over_devices},
  };
}

}  // namespace podium::fuzz
