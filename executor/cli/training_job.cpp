// From the options to a job, in this order: the optimizer, the samples and on which axis they lie, the types
// of a micro-batch that these bind, the model with what --resume holds, its types, the loss, the classes that
// labels count, and the held-out samples.
#include "executor/cli/training_job.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "executor/cli/flag_values.h"
#include "executor/cli/loss_text.h"
#include "executor/cli/optimizer_file.h"
#include "executor/cli/optimizer_text.h"
#include "executor/cli/run_inputs.h"
#include "executor/cli/session_options.h"
#include "executor/cli/write_file.h"
#include "ir/files.h"
#include "ir/infer.h"
#include "ir/nearest.h"
#include "ir/optimizer_spec.h"
#include "ir/passes/add_loss.h"
#include "ir/shell_word.h"

namespace podium::cli {
namespace {

// As one replica sees them, which has the value of one group of a weight. Folding constants may be what tells
// the sizes of outputs, but weights must not be folded.
void infer_types(importer::Model& model, int replicas) {
  importer::Model alone = of_first_replica(model, replicas);
  ir::infer(alone.graph);
  const auto is_static = [&](ir::ValueId id) { return alone.graph[id].type.is_static(); };
  const std::vector<ir::ValueId>& outputs = alone.graph.outputs;
  std::vector<ir::Type> types;
  for (ir::ValueId id : outputs) types.push_back(alone.graph[id].type);
  if (!std::all_of(outputs.begin(), outputs.end(), is_static)) {
    importer::Model folded = alone;
    optimize(folded);
    for (std::size_t i = 0; i < outputs.size(); ++i) types[i] = folded.graph[folded.graph.outputs[i]].type;
  }
  for (std::size_t i = 0; i < model.graph.values.size(); ++i) {
    ir::Value& value = model.graph.values[i];
    if (!value.constant && !value.data_left_out) value.type = alone.graph.values[i].type;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) model.graph[outputs[i]].type = types[i];
}

// Where data are drawn, or none are needed, nobody has to name them.
bool needs_data(const Options& options) { return !options.trains && !options.estimate; }

// ONNX's losses have the classes on axis 1, scores of tokens have them last: the labels tell.
bool has_classes_on_axis_one(const ir::Type& scores, const Samples& samples, const std::string& labels) {
  const auto found = samples.arrays.find(labels);
  // The scores have their samples where the labels have them.
  const auto axis = static_cast<std::size_t>(axis_of(samples.axes, labels));
  if (found == samples.arrays.end() || !scores.is_static() || scores.rank() < 3 ||
      axis >= scores.dims.size() || scores.dims[axis] == 0)
    return false;
  const std::int64_t wanted = elements_of_sample(found->second);
  const std::int64_t given = scores.element_count() / scores.dims[axis];
  return wanted * scores.dims.back() != given && wanted * scores.dims[1] == given;
}

std::string add_loss(importer::Model& model, const Options& options, const Samples& samples) {
  const TrainOptions& train = options.train;
  LossText loss = read_loss(train.loss);
  const bool is_named = !train.targets.empty() || needs_data(options);
  if (is_named && train.targets.size() != 1) {
    throw UsageError("train: {} targets found, --loss needs one", train.targets.size());
  }
  const ir::Graph& graph = model.graph;
  if (train.output.empty() && graph.outputs.size() != 1) {
    throw UsageError("train: the model has {} outputs, --output NAME needed for --loss",
                     graph.outputs.size());
  }
  const std::string output = train.output.empty() ? graph[graph.outputs[0]].name : train.output;
  const std::string target = is_named ? train.targets[0].first : "target";
  const ir::Type& scores = graph[ir::find_output(graph, output)].type;
  if (!loss.has_axis && has_classes_on_axis_one(scores, samples, target)) loss.options.class_axis = 1;
  return ir::add_loss(model.graph, loss.kind, output, target, loss.options);
}

ir::Optimizer optimizer_of(const TrainOptions& train, const RateSchedule& schedule) {
  const bool is_file = is_optimizer_file(train.optimizer);
  ir::Optimizer optimizer = is_file ? read_optimizer_file(train.optimizer) : read_optimizer(train.optimizer);
  if (!schedule.empty()) optimizer.defaults.at("learningRate").constant = false;
  if (!train.loss_scale.empty() && train.loss_scale != kAutomatic) {
    optimizer.loss_scaling.value = number("--loss-scale", train.loss_scale, 0.0);
  }
  // In halves only states that keep the loss scale have room for squares of gradients.
  const bool is_scaled = !train.loss_scale.empty() && optimizer.state_type == ir::DataType::Float16;
  if (!is_file && is_scaled && optimizer.spec->has_form("scaled-state")) optimizer.scaled_state = true;
  if (train.clip_norm) optimizer.clip_norms = {{.max_norm = *train.clip_norm}};
  if (train.gradient_norm && optimizer.clip_norms.empty())
    optimizer.clip_norms = {{.max_norm = std::numeric_limits<double>::infinity()}};
  return optimizer;
}

// Those that recurrent nodes tell, and those that the user names.
SampleAxes sample_axes(const TrainOptions& train, const importer::Signature& signature) {
  SampleAxes axes = signature.sample_axes;
  for (const auto& [name, axis] : train.sample_axes) {
    axes[name] = number("--sample-axis " + name, axis, 0);
  }
  return axes;
}

void check_sample_axes(const TrainOptions& train, const ir::Graph& graph) {
  std::vector<std::string_view> names;
  for (ir::ValueId id : graph.inputs) names.push_back(graph[id].name);
  for (const auto& [name, axis] : train.sample_axes) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    throw Error("--sample-axis {}={}: the model has no such input, the nearest is '{}'", name, axis,
                ir::nearest(name, names));
  }
}

// The weights and the state of --resume.
void resume_from_file(importer::Model& model, const Options& options,
                      const std::map<std::string, ir::Type>& types) {
  Options saved = options;
  saved.paths = {options.train.resume_file};
  try {
    resume(model, import(saved, types));
  } catch (const Error& error) {
    throw error.is_at(options.train.resume_file) ? error : error.at("--resume " + options.train.resume_file);
  }
}

}  // namespace

std::string name_of_norm(std::size_t group) { return fmt::format("GlobalNorm___{}", group); }

TrainingOptions training_options(const TrainingJob& job, SessionOptions session) {
  session.strategy.loss_scaling.automatic |= job.options.train.loss_scale == kAutomatic;
  // An estimate counts no right answers.
  if (job.classes && !job.options.estimate) session.strategy.anchors.try_emplace(job.classes->scores);
  ir::Optimizer optimizer = job.optimizer;
  if (job.options.train.gradient_norm) {
    for (std::size_t i = 0; i < optimizer.clip_norms.size(); ++i)
      session.strategy.anchors.try_emplace(name_of_norm(i));
  }
  if (session.strategy.loss_scaling.automatic) optimizer.loss_scaling.constant = false;
  return {.session = std::move(session),
          .loss = job.loss,
          .optimizer = std::move(optimizer),
          .weights = job.options.train.train_only,
          .frozen = job.options.train.freeze};
}

namespace {

// What the options alone say, so that a mistake in them is found before any data are read.
TrainingJob start_job(const Options& options) {
  const TrainOptions& train = options.train;
  TrainingJob job{.options = options};
  if (!train.schedule_file.empty())
    job.schedule = RateSchedule(ir::read_small_file(train.schedule_file), train.schedule_file);
  job.optimizer = optimizer_of(train, job.schedule);
  return job;
}

bool is_number(const ir::Type& type) {
  return ir::is_float(type.element) && type.has_rank && type.rank() == 0;
}

// "--loss-tensor loss or --loss cross-entropy --output scores", of the model's own outputs.
std::string losses_to_type(const ir::Graph& graph, const Options& options) {
  std::vector<std::string> flags;
  std::string scores;
  for (ir::ValueId id : graph.outputs) {
    const ir::Value& output = graph[id];
    if (is_number(output.type)) {
      flags.push_back("--loss-tensor " + ir::shell_word(output.name));
    } else if (scores.empty() && ir::is_float(output.type.element)) {
      scores = " --output " + ir::shell_word(output.name);
    }
  }
  if (flags.empty()) flags.emplace_back("--loss-tensor NAME of a scalar in the graph");
  flags.push_back("--loss cross-entropy (or another)" + scores +
                  (needs_data(options) ? " --target NAME=FILE" : ""));
  return fmt::format("{}", fmt::join(flags, " or "));
}

bool has_own_loss(const ir::Graph& graph) {
  return graph.outputs.size() == 1 && is_number(graph[graph.outputs[0]].type);
}

// Where no loss is named: the only output, which is one number, can be nothing else.
std::string own_loss(const TrainingJob& job) {
  const ir::Graph& graph = job.model.graph;
  if (!has_own_loss(graph))
    throw UsageError("train: no loss found, {} needed", losses_to_type(graph, job.options));
  const std::string& name = graph[graph.outputs[0]].name;
  print_notes({fmt::format("'{0}', the only output, is the loss (--loss-tensor {0})", name)}, job.options);
  return name;
}

std::string loss_of(TrainingJob& job) {
  const TrainOptions& train = job.options.train;
  if (!train.loss_tensor.empty()) return train.loss_tensor;
  return train.loss.empty() ? own_loss(job) : add_loss(job.model, job.options, job.samples);
}

// The job has its model and its samples.
void add_loss(TrainingJob& job) {
  const TrainOptions& train = job.options.train;
  infer_types(job.model, job.options.session.replicas);
  job.loss = loss_of(job);
  check_sample_axes(train, job.model.graph);
  job.classes = find_classes(job.model.graph, job.loss);
}

}  // namespace

TrainingJob make_training_job(const Options& options, importer::Model model) {
  TrainingJob job = start_job(options);
  job.model = std::move(model);
  if (const std::string& saved = options.train.resume_file; !saved.empty())
    resume(job.model, importer::import_model(saved, {.dims = options.dims, .constants = options.constants}));
  add_loss(job);
  return job;
}

namespace {

// Names what the model takes, for who has named no file yet.
[[noreturn]] void refuse_without_data(const Options& options) {
  importer::Model model =
      importer::import_model(options.paths[0], {.dims = options.dims, .constants = options.constants});
  infer_types(model, options.session.replicas);
  std::string flags;
  for (ir::ValueId id : model.graph.inputs) {
    const ir::Value& input = model.graph[id];
    flags += fmt::format(" --input {} ({})", ir::shell_word(input.name + "=FILE"),
                         type_text(model.info.open, input.name, input.type));
  }
  const bool is_named = !options.train.loss.empty() || !options.train.loss_tensor.empty();
  if (!options.train.loss.empty()) flags += " --target NAME=FILE (what the output should be)";
  if (!is_named && !has_own_loss(model.graph))
    flags += ", and a loss: " + losses_to_type(model.graph, options);
  throw UsageError(
      "train: no data found, needed:{}; .npy, .pb or IDX files with as many samples each, along their first "
      "dimension (--estimate clocks a step without data)",
      flags);
}

}  // namespace

TrainingJob make_training_job(const Options& options) {
  const TrainOptions& train = options.train;
  TrainingJob job = start_job(options);
  const importer::Signature signature = importer::read_signature(options.paths[0]);
  const SampleAxes axes = sample_axes(train, signature);
  job.samples = read_samples({"input", "target"}, options.inputs, train.targets, signature, axes);
  if (job.samples.arrays.empty() && needs_data(options)) refuse_without_data(options);
  const auto types = micro_batch_types(job.samples, signature, train.micro_batch);
  // The file may be written over while the job goes on, and the job writes the model with new weights.
  job.model = import_sized(options, types, importer::LargeData::Copied);
  if (!train.resume_file.empty()) resume_from_file(job.model, options, types);
  add_loss(job);
  if (job.classes) check_labels(*job.classes, job.samples);
  if (!train.held_out_inputs.empty() || !train.held_out_targets.empty()) {
    job.held_out = read_samples({"eval-input", "eval-target"}, train.held_out_inputs, train.held_out_targets,
                                signature, axes);
  }
  return job;
}

}  // namespace podium::cli
