#include "executor/cli/train_options.h"

#include <array>

#include "executor/cli/flag_values.h"
#include "executor/cli/loss_text.h"
#include "executor/cli/optimizer_file.h"
#include "executor/cli/optimizer_text.h"

namespace podium::cli {
namespace {

using Texts = std::vector<std::string>;

constexpr const char* kSteps = "Training";

void add_data_flags(cxxopts::Options& options) {
  options.add_options("Data")(
      "input",
      "NAME=FILE: training data from .npy, .pb or IDX, leading dimension = samples, as they "
      "are; integers are cast to the input's type (repeatable)",
      cxxopts::value<Texts>())(
      "eval-input", "NAME=FILE: held-out data, evaluated after each epoch (repeatable)",
      cxxopts::value<Texts>())("eval-target", "NAME=FILE (repeatable)", cxxopts::value<Texts>())(
      "dim", "NAME=N: value of a symbolic dimension (repeatable)", cxxopts::value<Texts>())(
      "shuffle", "SEED: other orders of the samples in each epoch (default: as they come)",
      cxxopts::value<std::string>())(
      "precision", "float32, float16: cast the model's float tensors (default: as they are)",
      cxxopts::value<std::string>())("report", "FILE.json that gets the whole result",
                                     cxxopts::value<std::string>());
}

// What one step is.
void add_shared_flags(cxxopts::Options& options) {
  options.add_options(kSteps)("target", "NAME=FILE: what the outputs should be (repeatable)",
                              cxxopts::value<Texts>())(
      "micro-batch", "N samples: the leading dimension of the inputs (default: as the model has it)",
      cxxopts::value<std::string>())("loss", loss_help(), cxxopts::value<std::string>())(
      "output", "NAME of the output that the loss is of (default: the only one)",
      cxxopts::value<std::string>())("loss-tensor", "NAME of a scalar in the graph, in place of --loss",
                                     cxxopts::value<std::string>())(
      "optimizer", optimizer_help() + optimizer_file_help(), cxxopts::value<std::string>())(
      "loss-scale",
      "X: the loss is multiplied by it, the gradients divided; auto: it follows the gradients of float16, "
      "from 1 on (from X on with automaticLossScalingSettings.enabled in --options)",
      cxxopts::value<std::string>())("clip-norm",
                                     "X: the largest norm of the gradients of all weights together",
                                     cxxopts::value<std::string>());
}

constexpr std::array kShared{"target",      "micro-batch", "loss",       "output",
                             "loss-tensor", "optimizer",   "loss-scale", "clip-norm"};

void check_step(const TrainOptions& train, std::string_view command) {
  if (train.loss.empty() == train.loss_tensor.empty()) {
    throw UsageError("{}: {} found, one of --loss and --loss-tensor needed", command,
                     train.loss.empty() ? "none" : "both");
  }
  if (!train.optimizer.empty()) return;
  throw UsageError("{}: --optimizer needed, e.g. --optimizer adam,lr=1e-3", command);
}

TrainOptions read_flags(const cxxopts::ParseResult& result) {
  const auto files = [&](const char* name) {
    const auto found = pairs(result, name);
    return NamedFiles(found.begin(), found.end());
  };
  const auto text = [&](const char* name) {
    return result.count(name) > 0 ? result[name].as<std::string>() : std::string();
  };
  const auto whole = [&](const char* name) { return result.count(name) > 0 ? number(result, name, 1) : 0; };
  TrainOptions train{.inputs = files("input"),
                     .targets = files("target"),
                     .held_out_inputs = files("eval-input"),
                     .held_out_targets = files("eval-target"),
                     .loss = text("loss"),
                     .output = text("output"),
                     .loss_tensor = text("loss-tensor"),
                     .optimizer = text("optimizer"),
                     .schedule_file = text("learning-rate-schedule"),
                     .loss_scale = text("loss-scale"),
                     .clip_norm = {},
                     .micro_batch = whole("micro-batch"),
                     .epochs = whole("epochs"),
                     .steps = whole("steps"),
                     .shuffle = {},
                     .save_file = text("save"),
                     .resume_file = text("resume")};
  if (result.count("clip-norm") > 0) train.clip_norm = number(result, "clip-norm", 0.0);
  if (result.count("shuffle") > 0) train.shuffle = number<std::uint64_t>(result, "shuffle", 0);
  return train;
}

}  // namespace

void add_train_flags(cxxopts::Options& options) {
  add_data_flags(options);
  add_shared_flags(options);
  options.add_options(kSteps)(
      "learning-rate-schedule",
      "FILE.json: a list of {\"step\": N, \"learning-rate\": X}, ascending: X from step N (of this command, "
      "the first "
      "is 0) on",
      cxxopts::value<std::string>())("epochs", "N times through the data (default: 1)",
                                     cxxopts::value<std::string>())(
      "steps", "N steps at most, each batches-per-step updates", cxxopts::value<std::string>())(
      "save", "FILE.onnx that gets the model after each epoch: weights and optimizer state",
      cxxopts::value<std::string>())("resume", "FILE.onnx that --save has written: go on from it",
                                     cxxopts::value<std::string>());
}

void add_step_flags(cxxopts::Options& options) {
  options.add_options(kSteps)("train", "compare steps of training; samples without a file are drawn");
  add_shared_flags(options);
}

TrainOptions read_train_flags(const cxxopts::ParseResult& result) {
  TrainOptions train = read_flags(result);
  if (result.count("help") == 0) check_step(train, "train");
  return train;
}

TrainOptions read_step_flags(const cxxopts::ParseResult& result) {
  if (result.count("train") == 0) {
    for (const char* flag : kShared) {
      if (result.count(flag) > 0) throw UsageError("compare: --{} found, --train needed with it", flag);
    }
    return {};
  }
  TrainOptions train = read_flags(result);
  if (result.count("help") == 0) check_step(train, "compare");
  return train;
}

}  // namespace podium::cli
