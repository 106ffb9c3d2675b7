// How a run is split: PopART's session options, with the same meaning and defaults, and those of Podium.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "executor/schedule/schedule.h"
#include "ir/placement.h"

namespace podium {

enum class VirtualGraphMode : std::uint8_t { Off, Manual, Auto, ExecutionPhases };
/// What processors exchange at the end of a pipeline's superstep: as one, where an exchange waits for all of
/// them, or each group that has something for each other by itself.
enum class Exchanges : std::uint8_t { Together, Apart };
enum class SyncPattern : std::uint8_t { Full, SinglePipeline, ReplicaAndLadder };
/// Which micro-batches of an output come back to the host; as text "all", "final", "sum", "every-N".
enum class AnchorReturn : std::uint8_t { All, Final, Sum, EveryN };
/// The phase in which a remote tensor is loaded: the one before, or the one that needs the tensor. In the
/// latter case a load over IO tiles begins as soon as these are idle, while the phase before still computes.
enum class PhaseIo : std::uint8_t { Preload, OnDemand };
/// The order of loads, copies and stores inside a phase (semantics, section 8.1).
enum class PhaseSchedule : std::uint8_t { Interleaving, Batch, BatchClusteredIO };
enum class IoMode : std::uint8_t { Compute, Io, IoOverlapped };
enum class SyntheticData : std::uint8_t { Off, Zeros, RandomNormal, RandomUniform };
enum class Recomputation : std::uint8_t { None, Standard, NormOnly, Pipeline, RecomputeAll };
enum class Reduction : std::uint8_t { Sum, Mean };
/// Where a mean over micro-batches and replicas divides: once at the end, or in every step.
enum class MeanStrategy : std::uint8_t { Post, Running };

struct Anchor {
  AnchorReturn returns = AnchorReturn::All;
  int every = 1;  ///< N of EveryN, in batches
  std::optional<ir::TileSet> tiles = {};
  std::optional<ir::ExchangeStrategy> exchange = {};
};

struct LocationSettings {
  ir::TensorLocation location = {};
  std::int64_t min_elements_for_off_chip = 2;
  std::int64_t min_elements_for_sharding = 8192;
};

struct PhaseSettings {
  int phases = 0;
  int stages = 2;  ///< processors that take turns: 2 is ping-pong, 1 all phases on one
  PhaseIo weights = PhaseIo::Preload;
  PhaseIo activations = PhaseIo::Preload;
  PhaseIo optimizer_state = PhaseIo::OnDemand;
  PhaseIo accumulators = PhaseIo::Preload;
  PhaseSchedule schedule = PhaseSchedule::Interleaving;
  bool operator==(const PhaseSettings&) const = default;
};

struct BatchSerialization {
  int factor = 0;
  IoMode io_mode = IoMode::Compute;
};

/// Blocks of transformers and chains of products or convolutions cut over a group of devices, as they are
/// found by their structure.
struct TensorParallelism {
  int devices = 1;           ///< that a weight is cut over; 1: none is cut
  bool cuts_tokens = false;  ///< also the tokens between the blocks
  int expert_groups = 1;     ///< of these devices, among which experts are shared out
  int context_groups = 1;    ///< of `devices` each, which share out the tokens, in attention too
  int spatial_groups = 1;    ///< of one device each, which share out the rows of images
  int sample_groups = 1;     ///< of `spatial_groups` devices each, which share out the samples of images
  /// Whether what all devices of a group have goes to another group in parts, one from each device, which
  /// the other group then gathers.
  bool scatters_sends = false;
  /// Whether what devices have exchanged in an op that runs again is exchanged again, not kept.
  bool recomputes_exchanges = false;
  /// Devices that share out images.
  std::int64_t image_groups() const { return std::int64_t{spatial_groups} * sample_groups; }
  bool cuts() const { return devices > 1 || context_groups > 1 || image_groups() > 1; }
  /// Devices of a processor of the placement.
  std::int64_t group() const { return std::int64_t{devices} * context_groups * image_groups(); }
  friend bool operator==(const TensorParallelism&, const TensorParallelism&) = default;
};

/// The tensors whose gradients automatic loss scaling tracks.
enum class GradientTracking : std::uint8_t { All, ConvAndMatMul, OfTensors };

/// Loss scaling that follows the gradients' histogram (training).
struct LossScaling {
  bool automatic = false;
  double bin_edge = 0.125;         ///< share of the type's range; larger magnitudes are in the upper bin
  double upper_proportion = 1e-7;  ///< share of numbers in the upper bin, above which the scale falls
  int period = 1;                  ///< updates of the weights between updates of the scale
  GradientTracking tracking = GradientTracking::All;
  std::vector<std::string> tensors = {};  ///< for OfTensors
};

/// In how many bits products of 16-bit operands add up, where their nodes do not say (`__partials_type`).
enum class Partials : std::uint8_t { Float, Half };

/// In what products by weights take their operands, where their nodes do not say (`__operands_type`): as they
/// are stored, or in blocks of 8 bits (ir/passes/round_operands.h).
enum class Operands : std::uint8_t { AsStored, MxFp8 };

/// How products are planned: their cost, never their numbers.
struct ProductPlanning {
  Partials partials = Partials::Float;
  /// The share of a tile's memory for operands that it receives and for partial sums. Unset: what the fastest
  /// plan takes.
  std::optional<double> available_memory = {};
};

/// Whether code that computes the same is on a processor once.
enum class Outlining : std::uint8_t { Off, On };

/// How the host keeps up with a run.
enum class Prefetch : std::uint8_t {
  Off,  ///< the host begins to move data when the processor asks for them
  On    ///< the host fills and empties buffers beside
};
struct HostStreams {
  Prefetch prefetch = Prefetch::On;
  int depth = 1;                           ///< micro-batches of a stream that wait in its buffer
  std::map<std::string, int> depths = {};  ///< of single streams, by tensor
  int depth_of(const std::string& tensor) const {
    const auto own = depths.find(tensor);
    return own == depths.end() ? depth : own->second;
  }
};

/// Which collectives in a row are one, whatever the device does by itself.
struct CollectiveMerging {
  bool brings_together = false;  ///< steps are put in an order in which collectives follow each other
  bool all_reduces = false;
  bool reduce_scatters = false;
  bool all_gathers = false;
};

/// Where weights that kernels have packed are kept for the processes that come after.
struct EngineCache {
  bool enabled = false;
  std::string path = {};
  std::string folder() const { return path.empty() ? "session_cache" : path; }
};

/// Which channels are a group of GroupNormalization: with C channels in G groups, those that lie side by side
/// (channel c is in group c / (C / G)), or every G-th (c modulo G).
enum class ChannelGroups : std::uint8_t { SideBySide, Strided };

/// The settings of a run. `check_options` gives them as they take effect.
struct Strategy {
  VirtualGraphMode virtual_graph_mode = VirtualGraphMode::Off;
  std::vector<double> virtual_graph_split_ratios = {};
  /// Podium's own option. The model's device configuration (of ONNX) whose devices tensors are cut over; "":
  /// none.
  std::string device_configuration = {};
  TensorParallelism tensor_parallel = {};  ///< Podium's own option, instead of a configuration
  int ipus = 0;                            ///< all replicas together; 0: as many as the placement needs
  bool pipelining = false;
  PipelineOrder pipeline_order = PipelineOrder::Lockstep;  ///< Podium's own option
  /// Of PipelineOrder::Listed, and of ListScheduled once it is known how long the passes take.
  schedule::Orders pipeline_list = {};
  /// Podium's own option. Chunks of the model on each processor of a pipeline that is placed automatically.
  int pipeline_chunks = 1;
  /// Podium's own option. Weight gradients that a processor of a pipeline may put off; nothing: as many as
  /// the schedule has use for, or, where a clock knows the memory, as many of them as fit.
  std::optional<int> pipeline_deferred = {};
  Exchanges exchanges = Exchanges::Together;  ///< follows from the device
  /// Podium's own option. Where a pipeline updates without accumulation, the backward pass of a micro-batch,
  /// its recomputation too, reads the weights that its forward pass read. Without the option it reads the
  /// newest weights (semantics, section 4.4).
  bool weight_stashing = false;
  int batches_per_step = 1;
  int accumulation_factor = 1;
  int replicas = 1;
  PhaseSettings phases = {};
  BatchSerialization batch_serialization = {};
  LocationSettings weights = {};
  LocationSettings optimizer_state = {};
  LocationSettings accumulators = {};
  LocationSettings activations = {};
  std::map<std::string, ir::TensorLocation> location_overrides = {};  ///< by tensor; taken as they are
  int io_tiles = 0;
  ir::ExchangeStrategy overlap_io =
      ir::ExchangeStrategy::JustInTime;  ///< for inputs and anchors without their own
  Recomputation recomputation = Recomputation::None;
  SyncPattern sync = SyncPattern::Full;
  Reduction reduction = Reduction::Sum;
  MeanStrategy mean_strategy = MeanStrategy::Post;
  LossScaling loss_scaling = {};
  SyntheticData synthetic_data = SyntheticData::Off;
  std::map<std::string, Anchor> anchors = {};  ///< by output; one that is not here comes back in full
  bool constant_weights = true;
  std::vector<std::string> updatable_buffers = {};  ///< inference: weights that can be set all the same
  Operands operands = Operands::AsStored;
  ProductPlanning matmuls = {};  ///< products of matrices and attention; recurrent cells by their partials
  ProductPlanning convolutions = {};  ///< and the gradients of their weights
  ProductPlanning recurrent = {};
  Outlining outlining = Outlining::On;
  HostStreams host_streams = {};
  CollectiveMerging merging = {};
  EngineCache cache = {};
  bool joins_remote_transfers = true;  ///< of several processors, into one exchange where all wait for it
  ChannelGroups channel_groups = ChannelGroups::SideBySide;

  /// A processor of the placement is a group of devices then.
  bool cuts_tensors() const { return !device_configuration.empty() || tensor_parallel.cuts(); }
};

}  // namespace podium
