#include "executor/cli/command.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "executor/cli/annotate_options.h"
#include "executor/cli/calibrate_options.h"
#include "executor/cli/memory_limit.h"
#include "executor/cli/options.h"
#include "executor/cli/terminal.h"
#include "executor/cli/train_options.h"
#include "executor/cli/usage_error.h"

namespace podium::cli {
namespace {

constexpr std::string_view kPatterns =
    "\nPATTERN: a glob on node names (an unnamed node goes by its first output), type:GLOB on op types,\n"
    "or A..B for every node on the paths from tensor A to tensor B. A name without wildcards stands also\n"
    "for what is under it.\n";

constexpr std::array kCommands{
    CommandRow{.command = Command::Run,
               .name = "run",
               .summary = "run inference and print the result table",
               .purpose = "Runs inference and prints the result table and a line per output.",
               .example = "podium run model.onnx --dim batch=8 --ipus 4 --pipeline --explain",
               .execute = execute_run},
    CommandRow{
        .command = Command::Train,
        .name = "train",
        .summary = "train a model and print a line an epoch and the result table",
        .purpose = "Trains a model: a line an epoch, then the table of a step.",
        .example =
            "podium train model.onnx --loss cross-entropy --optimizer adam,lr=1e-3 --input x=x.npy --target label=y.npy",
        .execute = execute_train,
        .check = check_train},
    CommandRow{.command = Command::Profile,
               .name = "profile",
               .summary = "what each op and layer of a model costs",
               .purpose =
                   "Prints the simulated time, work and bytes of each op, layer, processor and pass under "
                   "a strategy.",
               .example = "podium profile model.onnx --ipus 4 --pipeline --sort flop",
               .execute = execute_profile,
               .check = check_profile},
    CommandRow{.command = Command::Annotate,
               .name = "annotate",
               .summary = "place a model on processors, stages and phases",
               .purpose = "Places the nodes of a model on processors, stages and phases.",
               .example = "podium annotate model.onnx --auto pipeline --ipus 4 -o placed.onnx",
               .execute = execute_annotate,
               .check = check_annotate,
               .paths = "MODEL",
               .epilogue = kPatterns},
    CommandRow{.command = Command::Compare,
               .name = "compare",
               .summary = "compare strategies on one model",
               .purpose = "Clocks and runs strategies on one model, or trains it under them, and prints them "
                          "best first.",
               .example = "podium compare model.onnx --ipus 16 --verify-only 3",
               .execute = execute_compare,
               .check = check_compare},
    CommandRow{.command = Command::Validate,
               .name = "validate",
               .summary = "hold the simulator against published figures",
               .purpose =
                   "Predicts published figures, by default those that come with it, and says how far off "
                   "the predictions are. docs/cost-model.md describes the format of a file.",
               .example = "podium validate",
               .execute = execute_validate,
               .models = Models::Any,
               .paths = "[FILE.json...]"},
    CommandRow{.command = Command::Calibrate,
               .name = "calibrate",
               .summary = "measure this machine, so that --device host predicts its runs",
               .purpose =
                   "Measures what products, convolutions, memory and threads of this machine come to, and "
                   "writes the device that --device host names, for all threads and for one.",
               .example = "podium calibrate && podium run model.onnx --device host --repeat 10",
               .execute = execute_calibrate,
               .models = Models::Any,
               .check = check_calibrate,
               .paths = ""},
    CommandRow{.command = Command::Test,
               .name = "test",
               .summary = "run ONNX test cases",
               .purpose = "Runs ONNX test cases, found recursively: model.onnx with test_data_set_*.",
               .example = "podium test /usr/share/libonnx-testdata/data/node",
               .execute = execute_test,
               .models = Models::Any},
    CommandRow{.command = Command::Info,
               .name = "info",
               .summary = "describe a model, or the ops that are supported",
               .purpose = "Describes a model: inputs, outputs, ops, parameters, work, memory, annotations.",
               .example = "podium info model.onnx",
               .execute = execute_info,
               .models = Models::Any},
};

}  // namespace

std::span<const CommandRow> commands() { return kCommands; }

const CommandRow& row_of(Command command) {
  return *std::find_if(kCommands.begin(), kCommands.end(),
                       [&](const CommandRow& row) { return row.command == command; });
}

int run_command(const CommandRow& command, const Arguments& arguments) {
  const Options options = parse(command.command, arguments);
  if (options.help) {
    show(help(command.command));
    return kDone;
  }
  if (command.models == Models::One && options.paths.size() != 1)
    throw UsageError("{}: {} models found, one needed", command.name, options.paths.size());
  if (command.check != nullptr) command.check(options);
  if (options.memory_limit > 0) limit_memory(options.memory_limit);
  return command.execute(options);
}

}  // namespace podium::cli
