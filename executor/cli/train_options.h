// The options of `podium train`, and of `podium compare --train`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace podium::cli {

/// NAME and FILE of an option that is repeated.
using NamedFiles = std::vector<std::pair<std::string, std::string>>;

/// Of --loss-scale.
inline constexpr std::string_view kAutomatic = "auto";

struct TrainOptions {
  NamedFiles targets;
  std::vector<std::string> train_only;  ///< names or globs of weights; none: all that are
  std::vector<std::string> freeze;
  NamedFiles sample_axes;  ///< input and axis
  NamedFiles held_out_inputs;
  NamedFiles held_out_targets;
  std::string loss;         ///< to be added
  std::string output;       ///< that it is of; "": the model's only one
  std::string loss_tensor;  ///< in the model already
  std::string optimizer;
  std::string schedule_file;
  std::string loss_scale;           ///< "": none
  std::optional<double> clip_norm;  ///< over all weights
  bool gradient_norm = false;       ///< of each step goes into the report
  int micro_batch = 0;              ///< 0: as the model says
  int epochs = 0;                   ///< 0: one, or as many as the steps need
  int steps = 0;                    ///< 0: as many as the epochs have
  int log_every = 0;                ///< steps between lines with the loss; 0: no such lines
  std::optional<std::uint64_t> shuffle;
  std::string save_file;
  std::string resume_file;
};

struct FlagRow;
struct Options;

/// The flags of train, of which those that say what a step is are compare's, too.
std::vector<FlagRow> train_flags();

/// UsageError for a loss or an optimizer that is missing.
void check_train(const Options& options);
/// The same where compare trains.
void check_profile(const Options& options);
void check_compare(const Options& options);

}  // namespace podium::cli
