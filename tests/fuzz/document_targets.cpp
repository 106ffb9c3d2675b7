// What people write: documents, the texts of flags, command lines. Each is read where the program reads it
// and used on a small model, as far as an estimate goes.
#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "annotate/rules.h"
#include "executor/cli/command.h"
#include "executor/cli/loss_text.h"
#include "executor/cli/optimizer_file.h"
#include "executor/cli/optimizer_text.h"
#include "executor/cli/rate_schedule.h"
#include "executor/cli/validation_rows.h"
#include "executor/compare/candidates.h"
#include "executor/device/presets.h"
#include "executor/device/read_device.h"
#include "executor/session/read_options.h"
#include "executor/session/training_session.h"
#include "tests/fuzz/target.h"

namespace podium::fuzz {
namespace {

// Products that may be on different processors, in stages or phases of their own; the output is the loss,
// too.
constexpr const char* kModel = R"(<ir_version: 10, opset_import: ["" : 21]>
net (float[4,2] x) => (float loss)
<float[2,2] w0 = {1, 2, 3, 4}, float[2,2] w1 = {1, 2, 3, 4}, float[2,2] w2 = {1, 2, 3, 4}, float[2] bias = {1, 2}>
{
  [first] a = MatMul (x, w0)
  [first_relu] b = Relu (a)
  [second] c = MatMul (b, w1)
  [third] d = MatMul (c, w2)
  [sum] e = Add (d, bias)
  [loss] loss = ReduceMean <keepdims = 0> (e)
}
)";

const importer::Model& model() {
  static const importer::Model kRead = importer::import_text(kModel);
  return kRead;
}

SessionOptions estimate_of(Strategy strategy, device::Device device) {
  return {.strategy = std::move(strategy), .device = std::move(device), .clock = true, .estimate = true};
}

device::Device default_device() { return *device::find_preset(device::kDefaultPreset); }

void estimate_all(const Strategy& strategy, const device::Device& device) {
  try {
    InferenceSession(model(), estimate_of(strategy, device));
  } catch (const Error&) {
    // Training may take what inference does not.
  }
  TrainingOptions options{.session = estimate_of(strategy, device), .loss = "loss"};
  TrainingSession(model(), options);
}

void use_options(const std::string& text) {
  Notes notes;
  estimate_all(read_options(text, "options", notes), default_device());
}

void use_device(const std::string& text) { estimate_all({}, device::parse_device(text)); }

void use_rules(const std::string& text) {
  ir::Graph graph = model().graph;
  annotate::apply_rules(graph, annotate::read_rules(text, "rules"));
}

void use_optimizer(const ir::Optimizer& optimizer) {
  TrainingOptions options{
      .session = estimate_of({}, default_device()), .loss = "loss", .optimizer = optimizer};
  TrainingSession(model(), options);
}

void use_optimizer_file(const std::string& text) {
  std::ofstream("optimizer.json", std::ios::binary) << text;
  use_optimizer(cli::read_optimizer_file("optimizer.json"));
}

void use_strategies(const std::string& text) {
  Notes notes;
  for (const compare::Candidate& candidate :
       compare::read_candidates(text, "strategies", nlohmann::json::object(), notes)) {
    try {
      estimate_all(candidate.strategy, default_device());
    } catch (const Error&) {
      // The next one may be possible.
    }
  }
}

Corpus device_documents() {
  Corpus corpus = corpus_files("device");
  for (std::string_view name : device::preset_names())
    corpus.push_back(device::to_json(*device::find_preset(name)));
  return corpus;
}

// A line is a word. Commands that would compute for as long as they are told to only estimate; files stay in
// the working directory.
void use_command_line(const std::string& text) {
  std::ofstream("m.onnxtxt") << kModel;
  std::ofstream("o.json") << R"({"enablePipelining": true, "batchesPerStep": 4})";
  std::ofstream("r.json") << R"([{"match": "first*", "ipu": 0}, {"match": "type:MatMul", "ipu": 1}])";
  std::ofstream("s.json")
      << R"([{"name": "one"}, {"name": "two", "options": {"numIPUs": 2, "virtualGraphMode": "Auto"}}])";
  std::ofstream("a.json") << R"({"optimizer": "adamw,lr=0.1", "defaultLearningRate": [0.25, false]})";
  std::ofstream("l.json") << R"([{"step": 0, "learning-rate": 0.1}, {"step": 100, "learning-rate": 0.01}])";
  std::istringstream lines(text);
  cli::Arguments words;
  for (std::string line; std::getline(lines, line);) words.push_back(line);
  for (const std::string& word : words) {
    if (word.find('/') != std::string::npos || word.find("..") != std::string::npos) return;
  }
  if (words.empty()) return;
  for (const cli::CommandRow& command : cli::commands()) {
    if (command.name != words[0]) continue;
    cli::Arguments arguments(words.begin() + 1, words.end());
    using enum cli::Command;
    if (cli::Commands{Run, Train, Compare}.contain(command.command)) arguments.emplace_back("--estimate");
    cli::run_command(command, arguments);
  }
}

}  // namespace

std::vector<Target> document_targets() {
  return {
      {"options", [] { return corpus_files("options"); }, mutate_json, use_options},
      {"rules", [] { return corpus_files("rules"); }, mutate_json, use_rules},
      {"device", device_documents, mutate_json, use_device},
      {"optimizer", [] { return corpus_files("optimizer"); }, mutate_json, use_optimizer_file},
      {"optimizer-text", [] { return corpus_files("optimizer-text"); }, mutate_text,
       [](const std::string& text) { use_optimizer(cli::read_optimizer(text)); }},
      {"loss-text", [] { return corpus_files("loss-text"); }, mutate_text,
       [](const std::string& text) { cli::read_loss(text); }},
      {"schedule", [] { return corpus_files("schedule"); }, mutate_json,
       [](const std::string& text) { cli::RateSchedule(text, "schedule"); }},
      {"strategies", [] { return corpus_files("strategies"); }, mutate_json, use_strategies},
      {"validation", [] { return corpus_files("validation"); }, mutate_json,
       [](const std::string& text) { cli::read_validation_rows(text, "rows"); }},
      {"command-line", [] { return corpus_files("command-line"); }, mutate_text, use_command_line},
  };
}

}  // namespace podium::fuzz
