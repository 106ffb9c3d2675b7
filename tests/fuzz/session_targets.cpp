// Small models that are run, under each strategy, with random numbers; images.
#include "executor/kernels/image/image.h"
#include "executor/session/training_session.h"
#include "tests/fuzz/dice.h"
#include "tests/fuzz/small_model.h"
#include "tests/fuzz/target.h"

namespace podium::fuzz {
namespace {

Corpus runnable_models() {
  Corpus corpus = corpus_files("run");
  for (std::string& model : case_models(std::size_t{4} << 10)) corpus.push_back(std::move(model));
  return corpus;
}

Corpus models_with_constants() {
  Corpus corpus = corpus_files("run-constants");
  for (std::string& model : runnable_models()) corpus.push_back(std::move(model));
  return corpus;
}

void run_model(const std::string& bytes, const Strategy& strategy,
               const importer::ImportOptions& reading = {}) {
  std::optional<importer::Model> model = small_model(bytes, reading);
  if (!model) return;
  InferenceSession session(std::move(*model), {.threads = 1, .strategy = strategy, .clock = true});
  if (!session.can_run()) return;
  session.run(random_inputs(session.inputs(), session.ids(), session.program().replicas, 1));
}

// Half of the inputs are constants, mostly such as decide a branch; which ones is the same for the same
// bytes.
void run_with_constants(const std::string& bytes) {
  const ir::Graph graph = importer::import_bytes(bytes).graph;
  Dice dice(bytes.size());
  importer::ImportOptions reading;
  for (ir::ValueId id : graph.inputs) {
    if (dice.one_in(2)) continue;
    reading.constants[graph[id].name] = {dice.one_in(4) ? static_cast<double>(dice.whole_number())
                                                        : static_cast<double>(dice.below(3))};
  }
  run_model(bytes, {}, reading);
}

Strategy pipelined() {
  Strategy strategy;
  strategy.virtual_graph_mode = VirtualGraphMode::Auto;
  strategy.ipus = 2;
  strategy.pipelining = true;
  strategy.batches_per_step = 3;
  return strategy;
}

Strategy phased() {
  Strategy strategy;
  strategy.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  strategy.phases.phases = 2;
  strategy.weights.location.storage = ir::Storage::OffChip;
  strategy.activations.location.storage = ir::Storage::OffChip;
  return strategy;
}

Strategy replicated() {
  Strategy strategy;
  strategy.replicas = 2;
  strategy.batches_per_step = 2;
  return strategy;
}

void train_model(const std::string& bytes) {
  std::optional<importer::Model> model = small_model(bytes);
  if (!model) return;
  TrainingOptions options{.session = {.threads = 1, .clock = true}, .loss = add_any_loss(*model)};
  TrainingSession session(std::move(*model), options);
  if (!session.can_run()) return;
  session.run(random_inputs(session.inputs(), session.ids(), session.program().replicas, 1));
}

Corpus images() { return corpus_files("image"); }

void decode(const std::string& bytes) {
  kernels::decode_image({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

}  // namespace

std::vector<Target> session_targets() {
  return {
      {"run", runnable_models, mutate_model, [](const std::string& bytes) { run_model(bytes, {}); }},
      {"run-constants", models_with_constants, mutate_model, run_with_constants},
      {"run-pipelined", runnable_models, mutate_model,
       [](const std::string& bytes) { run_model(bytes, pipelined()); }},
      {"run-phased", runnable_models, mutate_model,
       [](const std::string& bytes) { run_model(bytes, phased()); }},
      {"run-replicated", runnable_models, mutate_model,
       [](const std::string& bytes) { run_model(bytes, replicated()); }},
      {"train", runnable_models, mutate_model, train_model},
      {"image", images, mutate_bytes, decode},
  };
}

}  // namespace podium::fuzz
