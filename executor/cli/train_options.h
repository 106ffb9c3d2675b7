// The options of `podium train` alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cxxopts {
class Options;
class ParseResult;
}  // namespace cxxopts

namespace podium::cli {

/// NAME and FILE of an option that is repeated.
using NamedFiles = std::vector<std::pair<std::string, std::string>>;

/// Of --loss-scale.
inline constexpr std::string_view kAutomatic = "auto";

struct TrainOptions {
  NamedFiles inputs;
  NamedFiles targets;
  NamedFiles held_out_inputs;
  NamedFiles held_out_targets;
  std::string loss;         ///< to be added
  std::string output;       ///< that it is of; "": the model's only one
  std::string loss_tensor;  ///< in the model already
  std::string optimizer;
  std::string schedule_file;
  std::string loss_scale;           ///< "": none
  std::optional<double> clip_norm;  ///< over all weights
  int micro_batch = 0;              ///< 0: as the model says
  int epochs = 0;                   ///< 0: one, or as many as the steps need
  int steps = 0;                    ///< 0: as many as the epochs have
  std::optional<std::uint64_t> shuffle;
  std::string save_file;
  std::string resume_file;
};

void add_train_flags(cxxopts::Options& options);
/// Of compare: --train and what a step of training is, beside the inputs that inference takes too.
void add_step_flags(cxxopts::Options& options);

/// UsageError for values that are none and for a loss or an optimizer that is missing.
TrainOptions read_train_flags(const cxxopts::ParseResult& result);
/// The same of compare; UsageError also for what needs --train.
TrainOptions read_step_flags(const cxxopts::ParseResult& result);

}  // namespace podium::cli
