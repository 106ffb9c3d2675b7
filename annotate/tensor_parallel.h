// Finds the blocks of transformers and chains of convolutions by their structure and cuts their weights over
// devices as Shoeybi et al. 2019 (Megatron-LM) do: columns of the first product, rows of the second.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/sharding_spec.h"

namespace podium::annotate {

/// Whether each device has all tokens between the blocks, where norms and residual sums are, or its part of
/// them (Korthikanti et al. 2022, sequence parallelism).
enum class TokensBetweenBlocks : std::uint8_t { Whole, Cut };

/// Groups of devices that share out images (spatial.h).
struct ImageGroups {
  std::int64_t rows = 1;     ///< devices of a group, which share out the rows of each image, or its columns
  std::int64_t samples = 1;  ///< groups, which share out the samples

  std::int64_t devices() const { return rows * samples; }
};

struct TensorParallelOptions {
  std::int64_t devices = 2;
  TokensBetweenBlocks tokens = TokensBetweenBlocks::Whole;
  /// Groups of devices that share out the experts, whose columns and rows the devices of a group share out;
  /// it divides the number of devices.
  std::int64_t expert_groups = 1;
  /// Groups of `devices` each that share out the tokens of each sequence, in attention too: each has queries
  /// of its own tokens, and the keys and values of all, which it gathers.
  std::int64_t context_groups = 1;
  /// More than one device only where all others are 1.
  ImageGroups images = {};
};

/// What an op says of one of its inputs or outputs.
struct OpTensorSpec {
  ir::OpId op;
  ir::ValueId tensor;
  ir::ShardingSpec spec;
};

struct TensorParallelPlan {
  std::vector<OpTensorSpec> specs;
  int attentions = 0;
  int mlps = 0;
  int expert_mlps = 0;  ///< with weights [experts, in, out]
  int convolution_pairs = 0;
  int images = 0;  ///< results of convolutions, pools and batch normalisations that are cut
  int embeddings = 0;
  int heads = 0;                     ///< products onto the vocabulary
  bool leaves_devices_over = false;  ///< there are more of them than an attention has heads, or keys
  std::vector<ir::OpId> left_whole;  ///< products with weights that are no part of what was found
};

/// Cuts over devices 0 to devices * context_groups - 1, those of a group behind each other. The graph has its
/// types inferred; names of ops and values have no say.
/// - Attention: from a Softmax, or the op Attention, back to the products that make Q, K and V, which are cut
///   in columns by heads (a fused one part by part, one of parts of unlike widths as its columns come), and
///   forth to the projection, which is cut in rows. Keys and values with fewer heads than devices are on
///   several devices each. Where the devices do not divide the heads, some have one less, or none, with the
///   queries that share it.
/// - MLP: products whose columns reach the rows of another one through ops by element alone. Those of experts
///   have all experts in one product.
/// - Convolutions: output channels of one, input channels of the next.
/// - Products and convolutions of quantised numbers count as those of floats.
/// - Embeddings: tables with the most rows, and products with as many columns, are cut along the vocabulary.
/// - Tokens over groups: operands and results of all these by tokens, keys and values whole in their own
///   form, before heads are copied for several queries.
/// Error when experts cannot be shared out, experts are found where tokens are, and when nothing was found.
TensorParallelPlan plan_tensor_parallel(const ir::Graph& graph, const TensorParallelOptions& options);

/// "12 attention blocks, 12 MLPs, 1 embedding and 1 head cut over 2 devices; 1 product stays whole: pooler"
std::string to_string(const TensorParallelPlan& plan, const ir::Graph& graph,
                      const TensorParallelOptions& options);

}  // namespace podium::annotate
