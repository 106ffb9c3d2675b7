#include "executor/cli/train_options.h"

#include "executor/cli/flag_readers.h"
#include "executor/cli/loss_text.h"
#include "executor/cli/optimizer_file.h"
#include "executor/cli/optimizer_text.h"

namespace podium::cli {
namespace {

constexpr const char* kTraining = "Training";
constexpr Commands kTrain{Command::Train};
constexpr Commands kAlsoInference{Command::Compare, Command::Profile};
constexpr Commands kBoth{Command::Train, Command::Compare, Command::Profile};

std::vector<FlagRow> sample_flags() {
  constexpr const char* kData = "Data";
  return {
      {"eval-input", kTrain, kData, "NAME=FILE: held-out data, evaluated after each epoch (repeatable)",
       Takes::Values, set_pairs(&TrainOptions::held_out_inputs)},
      {"eval-target", kTrain, kData, "NAME=FILE (repeatable)", Takes::Values,
       set_pairs(&TrainOptions::held_out_targets)},
      {"shuffle", kTrain, kData, "SEED: other orders of the samples in each epoch (default: as they come)",
       Takes::Value, set_number<std::uint64_t>(&TrainOptions::shuffle, 0)},
  };
}

// What one step is.
std::vector<FlagRow> step_flags() {
  const auto row = [](const char* name, std::string help, auto read, Takes takes = Takes::Value) {
    return FlagRow{name, kBoth, kTraining, std::move(help), takes, read, "", "train"};
  };
  return {
      row("target", "NAME=FILE: what the outputs should be (repeatable)", set_pairs(&TrainOptions::targets),
          Takes::Values),
      row("sample-axis",
          "NAME=N: the axis that has the samples of an input, in the model and in its file (repeatable; "
          "default: 0, and 1 where a recurrent node of ONNX's usual layout reads the input)",
          set_pairs(&TrainOptions::sample_axes), Takes::Values),
      row("micro-batch", "N samples: the inputs' dimension of samples (default: as the model has it)",
          set_number(&TrainOptions::micro_batch, 1)),
      row("loss", loss_help(), set_text(&TrainOptions::loss)),
      row("output", "NAME of the output that the loss is of (default: the only one)",
          set_text(&TrainOptions::output)),
      row("loss-tensor",
          "NAME of a scalar in the graph, in place of --loss (default: the only output, where it is one)",
          set_text(&TrainOptions::loss_tensor)),
      row("optimizer", optimizer_help() + optimizer_file_help(), set_text(&TrainOptions::optimizer)),
      row("train-only",
          "GLOB of the initializers that are trained (repeatable; default: those of floats; one without "
          "dimensions where it is added to or multiplied with what depends on weights and its name is none that "
          "exporters give numbers of formulas, such as onnx::Mul_12)",
          set_texts(&TrainOptions::train_only), Takes::Values),
      row("freeze", "GLOB of initializers that are not trained (repeatable)",
          set_texts(&TrainOptions::freeze), Takes::Values),
      row("loss-scale",
          "X: the loss is multiplied by it, the gradients divided; auto: it follows the gradients of float16, "
          "from 1 on (from X on with automaticLossScalingSettings.enabled in --options)",
          set_text(&TrainOptions::loss_scale)),
      row("clip-norm", "X: the largest norm of the gradients of all weights together",
          set_number(&TrainOptions::clip_norm, 0.0)),
  };
}

std::vector<FlagRow> epoch_flags() {
  return {
      {"learning-rate-schedule", kTrain, kTraining,
       "FILE.json: a list of {\"step\": N, \"learning-rate\": X}, ascending: X from step N (of this command, "
       "the first is 0) on",
       Takes::Value, set_text(&TrainOptions::schedule_file)},
      {"epochs", kTrain, kTraining, "N times through the data (default: 1)", Takes::Value,
       set_number(&TrainOptions::epochs, 1)},
      {"steps", kTrain, kTraining, "N steps at most, each batches-per-step updates", Takes::Value,
       set_number(&TrainOptions::steps, 1)},
      {"log-every", kTrain, kTraining,
       "N steps between lines with the loss of a step (default: a line an epoch alone)", Takes::Value,
       set_number(&TrainOptions::log_every, 1)},
      {"gradient-norm", kTrain, kTraining,
       "the norm of all gradients is computed, printed with --log-every and kept in --report and --html",
       Takes::Nothing, set(&TrainOptions::gradient_norm)},
      {"save", kTrain, kTraining,
       "FILE.onnx that gets the model after each epoch: weights and optimizer state", Takes::Value,
       set_text(&TrainOptions::save_file)},
      {"resume", kTrain, kTraining, "FILE.onnx that --save has written: go on from it", Takes::Value,
       set_text(&TrainOptions::resume_file)},
  };
}

void check_step(const TrainOptions& train, std::string_view command) {
  if (!train.loss.empty() && !train.loss_tensor.empty())
    throw UsageError("{}: both found, one of --loss and --loss-tensor needed", command);
  if (!train.optimizer.empty()) return;
  throw UsageError("{}: --optimizer needed, e.g. --optimizer adam,lr=1e-3", command);
}

}  // namespace

std::vector<FlagRow> train_flags() {
  std::vector<FlagRow> rows{{"train", kAlsoInference, kTraining,
                             "of a step of training; samples without a file are drawn", Takes::Nothing,
                             set(&Options::trains)}};
  for (auto make : {sample_flags, step_flags, epoch_flags}) {
    for (FlagRow& row : make()) rows.push_back(std::move(row));
  }
  return rows;
}

void check_train(const Options& options) { check_step(options.train, "train"); }

void check_profile(const Options& options) {
  if (options.trains) check_step(options.train, "profile");
}

void check_compare(const Options& options) {
  if (options.trains) check_step(options.train, "compare");
}

}  // namespace podium::cli
