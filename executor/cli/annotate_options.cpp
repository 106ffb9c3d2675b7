// The rows of the command's flags, by what they write: rules of placement, placement by cost, devices that
// tensors are cut over. Flags that need another one are looked at when all are read, in check_annotate.
#include "executor/cli/annotate_options.h"

#include <limits>

#include "annotate/annotations.h"
#include "executor/cli/flag_readers.h"

namespace podium::cli {
namespace {

constexpr Commands kAnnotate{Command::Annotate};

// --stage, --ipu or --phase.
FlagRow row_of_rule(const char* name, const char* help, std::string_view annotation) {
  const auto read = [annotation](Options& options, const Given& given) {
    for (const std::string& text : given.values) {
      const std::size_t equals = text.rfind('=');
      if (equals == std::string::npos || equals == 0) {
        throw UsageError("--{}: '{}' found, 'PATTERN=N' needed", given.flag, text);
      }
      constexpr std::int64_t kMost = std::numeric_limits<int>::max();
      const auto value =
          number<std::int64_t>(fmt::format("--{} {}", given.flag, text), text.substr(equals + 1), 0, kMost);
      options.annotate.rules.push_back({text.substr(0, equals), {{std::string(annotation), value}}});
    }
  };
  return {name, kAnnotate, "Rules", help, Takes::Values, read};
}

void read_shards(Options& options, const Given& given) {
  for (const std::string& text : given.values) {
    try {
      options.annotate.shards.push_back(annotate::read_shard_rule(text));
    } catch (const Error& error) {
      throw UsageError("--shard: {}", error.what());
    }
  }
}

void read_automatic(Options& options, const Given& given) {
  options.annotate.automatic = static_cast<AutomaticPlacement>(given.word({"shard", "pipeline", "phases"}));
}

// What a pipeline alone has.
void check_pipeline(const AnnotateOptions& options) {
  if (options.automatic == AutomaticPlacement::Pipeline) return;
  const char* found = options.chunks ? "chunks" : !options.schedule.empty() ? "schedule" : nullptr;
  if (found != nullptr) throw UsageError("--{}: found without --auto pipeline, which it is for", found);
}

// What a device configuration alone has.
void check_devices(const Options& options) {
  const bool cuts_tokens = options.annotate.tokens == annotate::TokensBetweenBlocks::Cut;
  if (cuts_tokens && !options.annotate.tensor_parallel)
    throw UsageError("--sequence-parallel: found without --tensor-parallel, which it is for");
  if (options.annotate.expert_parallel && !options.annotate.tensor_parallel)
    throw UsageError("--expert-parallel: found without --tensor-parallel, which it is for");
  if (cuts_images(options.annotate) &&
      (options.annotate.tensor_parallel || options.annotate.context_parallel))
    throw UsageError("--{}: found beside --{}, one of them needed",
                     options.annotate.spatial_parallel ? "spatial-parallel" : "sample-parallel",
                     options.annotate.tensor_parallel ? "tensor-parallel" : "context-parallel");
  if (cuts_tensors(options.annotate)) return;
  const char* found = options.annotate.devices         ? "devices"
                      : !options.configuration.empty() ? "configuration"
                                                       : nullptr;
  if (found != nullptr)
    throw UsageError(
        "--{}: found without --shard, --tensor-parallel, --context-parallel, --spatial-parallel or "
        "--sample-parallel, which it is for",
        found);
}

// The numbers of --ipus and --phases once more, now that --auto says what they may be.
void check_automatic(const AnnotateOptions& options) {
  if (!options.automatic) {
    for (const auto& [name, value] : {std::pair{"ipus", options.ipus}, std::pair{"phases", options.phases}}) {
      if (value) throw UsageError("--{}: found without --auto, which it is for", name);
    }
    return;
  }
  const bool phased = options.automatic == AutomaticPlacement::Phases;
  if (!phased && !options.ipus) throw UsageError("--auto: --ipus N needed");
  if (!phased && options.phases) throw UsageError("--phases: found without --auto phases, which it is for");
  const int least = options.automatic == AutomaticPlacement::Pipeline ? 2 : 1;
  if (options.ipus) number("--ipus", fmt::format("{}", *options.ipus), least, phased ? 2 : 1 << 20);
}

}  // namespace

std::vector<FlagRow> annotate_flags() {
  constexpr const char* kHeading = "Automatic placement";
  constexpr const char* kDevices = "Devices that tensors are cut over, as ONNX says it";
  return {
      {"o,output", kAnnotate, "Result", "OUT.onnx: the model with its annotations, all else as it was",
       Takes::Value, set_text(&AnnotateOptions::output)},
      {"list", kAnnotate, "Result",
       "print the placement, and per processor its ops, parameters, FLOP, bytes in and out", Takes::Nothing,
       set(&AnnotateOptions::list)},
      row_of_rule("stage", "'PATTERN=N': pipeline stage of the nodes (repeatable, later ones win)",
                  annotate::kPipelineStage),
      row_of_rule("ipu", "'PATTERN=N': processor inside a replica (repeatable)", annotate::kVirtualGraph),
      row_of_rule("phase", "'PATTERN=N': execution phase (repeatable)", annotate::kExecutionPhase),
      {"from", kAnnotate, "Rules",
       "FILE.json with a list of rules; --stage, --ipu and --phase win over it. A rule: {\"match\": PATTERN, "
       "\"ipu\": N, \"stage\": N, \"stages\": N (the layers that the pattern names, shared out evenly), \"phase\": N, \"recompute\": true, \"tiles\": \"IO\", \"location\": "
       "\"OffChip\", \"priority\": X, \"partials\": \"half\", \"operands\": \"mxfp8\", \"availableMemory\": X}",
       Takes::Value, set_text(&AnnotateOptions::rules_file)},
      {"clear", kAnnotate, "Rules", "first remove all annotations of placement and all device configurations",
       Takes::Nothing, set(&AnnotateOptions::clear)},
      {"auto", kAnnotate, kHeading,
       "shard, pipeline or phases, by estimated time and memory; rules win over it", Takes::Value,
       read_automatic},
      {"ipus", kAnnotate, kHeading, "N processors of a replica; of phases 1 or 2 that take turns (2)",
       Takes::Value, set_number(&AnnotateOptions::ipus, 1)},
      {"chunks", kAnnotate, kHeading,
       "N stages on each processor of a pipeline (as many as the schedule takes)", Takes::Value,
       set_number(&AnnotateOptions::chunks, 1)},
      {"schedule", kAnnotate, kHeading,
       "WORD: a pipeline's schedule, as of --pipeline-schedule, whose stages lie where it wants them and hold as "
       "many micro-batches as it does (lockstep)",
       Takes::Value, set_text(&AnnotateOptions::schedule)},
      {"phases", kAnnotate, kHeading, "N phases (as many as the memory asks for, at least 4)", Takes::Value,
       set_number(&AnnotateOptions::phases, 2)},
      {"shard", kAnnotate, kDevices,
       "'PATTERN:AXIS=N': tensors of those names in N parts along the axis, a device each (repeatable, later "
       "ones win). 'w:0=2,1=2' has four parts, 'w:0=2@0+1,2+3' two on two devices each, 'w:@0+1' is whole on two",
       Takes::Values, read_shards},
      {"tensor-parallel", kAnnotate, kDevices,
       "N devices for the weights of each block of a transformer, and of convolutions in pairs: columns of the "
       "first product, rows of the second, the vocabulary of embeddings; --shard wins over it",
       Takes::Value, set_number(&AnnotateOptions::tensor_parallel, 2, 65'536)},
      {"sequence-parallel", kAnnotate, kDevices, "with --tensor-parallel also the tokens between the blocks",
       Takes::Nothing,
       [](Options& options, const Given& /*given*/) {
         options.annotate.tokens = annotate::TokensBetweenBlocks::Cut;
       }},
      {"expert-parallel", kAnnotate, kDevices,
       "E groups of the devices of --tensor-parallel, among which experts are shared out (1: each expert over "
       "all devices)",
       Takes::Value, set_number(&AnnotateOptions::expert_parallel, 1, 65'536)},
      {"context-parallel", kAnnotate, kDevices,
       "C groups of the devices of --tensor-parallel, or of one each, that share out the tokens of each sequence, in "
       "attention too: keys and values are gathered",
       Takes::Value, set_number(&AnnotateOptions::context_parallel, 2, 65'536)},
      {"spatial-parallel", kAnnotate, kDevices,
       "S devices that share out the rows of images, or the columns where these are more: each reads a halo of its "
       "neighbours where windows slide",
       Takes::Value, set_number(&AnnotateOptions::spatial_parallel, 2, 65'536)},
      {"sample-parallel", kAnnotate, kDevices,
       "G groups of the devices of --spatial-parallel, or of one each, that share out the samples of images: "
       "normalisations of batches go over all of them",
       Takes::Value, set_number(&AnnotateOptions::sample_parallel, 2, 65'536)},
      {"devices", kAnnotate, kDevices, "N devices (as many as the cuts need)", Takes::Value,
       set_number(&AnnotateOptions::devices, 1, 65'536)},
      {"configuration", kAnnotate, kDevices,
       "NAME of the configuration, which replaces one of that name (podium)", Takes::Value,
       set_text(&Options::configuration)},
  };
}

void check_annotate(const Options& options) {
  const AnnotateOptions& annotate = options.annotate;
  check_automatic(annotate);
  check_pipeline(annotate);
  check_devices(options);
  if (annotate.output.ends_with(".onnxtxt")) {
    throw UsageError("-o: '{}' found, a name that ends in .onnx needed: models are written in binary",
                     annotate.output);
  }
  if (annotate.output.empty() && !annotate.list) throw UsageError("annotate: -o OUT.onnx or --list needed");
}

}  // namespace podium::cli
