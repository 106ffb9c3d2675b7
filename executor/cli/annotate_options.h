// The options of `podium annotate`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "annotate/rules.h"
#include "annotate/shard_rule.h"
#include "annotate/tensor_parallel.h"

namespace podium::cli {

enum class AutomaticPlacement : std::uint8_t { Shard, Pipeline, Phases };

struct AnnotateOptions {
  std::string output;                 ///< empty: nothing is written
  std::vector<annotate::Rule> rules;  ///< of --stage, --ipu and --phase
  std::string rules_file;
  std::optional<AutomaticPlacement> automatic;
  std::optional<int> ipus;
  std::optional<int> chunks;  ///< of a pipeline, on each processor; absent: as many as the schedule takes
  std::string schedule;       ///< of a pipeline; empty: lockstep
  std::optional<int> phases;  ///< absent: as many as the memory asks for
  std::vector<annotate::ShardRule> shards;  ///< of --shard
  std::optional<int> tensor_parallel;       ///< over so many devices
  std::optional<int> expert_parallel;       ///< groups of these that share out experts
  std::optional<int> context_parallel;      ///< groups of these that share out the tokens
  std::optional<int> spatial_parallel;      ///< devices that share out the rows of images
  std::optional<int> sample_parallel;       ///< groups of these that share out the samples
  annotate::TokensBetweenBlocks tokens = annotate::TokensBetweenBlocks::Whole;
  std::optional<int> devices;  ///< of the configuration; absent: as many as the cuts need
  bool clear = false;
  bool list = false;
};

/// Whether devices share out images.
inline bool cuts_images(const AnnotateOptions& options) {
  return options.spatial_parallel || options.sample_parallel;
}

/// Whether the command looks for blocks to cut.
inline bool cuts_blocks(const AnnotateOptions& options) {
  return options.tensor_parallel || options.context_parallel || cuts_images(options);
}

/// Whether the command writes a device configuration.
inline bool cuts_tensors(const AnnotateOptions& options) {
  return !options.shards.empty() || cuts_blocks(options);
}

struct FlagRow;
struct Options;

std::vector<FlagRow> annotate_flags();

/// UsageError for a command that would do nothing, and for numbers that do not fit to --auto.
void check_annotate(const Options& options);

}  // namespace podium::cli
