// Blocks are found in three rounds, each with products that no round before took: attention, products onto
// the vocabulary, pairs of products, those of experts among them.
//
//   x ─ Q, K, V columns ─ heads ─ Softmax ─ heads ─ projection rows ─ y
//   x ─ columns ─ by element ─ rows ─ y
//
// Of each product its weight, input and result are said: x whole on all devices, what lies between columns
// and rows in parts, y whole (an all-reduce) or, between the blocks, in parts of the tokens (a
// reduce-scatter, and a gather at the next x). What lies between follows by the rules of its ops.
//
// Groups of devices that share out the tokens have the same, each for its own tokens. Only keys and values
// are brought together, where their way to the Softmax begins with movements alone:
//
//   x ─ K columns ─ Reshape ─ Transpose ─ scores      the Reshape reads the tokens of all groups
#include "annotate/tensor_parallel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>

#include "annotate/device_specs.h"
#include "annotate/match.h"
#include "annotate/product_graph.h"
#include "annotate/spatial.h"
#include "ir/bodies.h"
#include "ir/ops/attention.h"

namespace podium::annotate {
namespace {

using ir::OpId;
using ir::ShardingSpec;
using ir::ValueId;

/// Where Softmax or Attention has its operands.
struct AttentionCore {
  OpId op;
  OpId k_reader, v_reader;  ///< ops that read keys and values
  ValueId q, k, v, result;
  std::int64_t head = ir::kUnknown;  ///< elements of a head
};

struct Block {
  std::vector<Origin> q, k, v;
  OpId projection;
};

/// How the elements of an axis are shared out.
struct Columns {
  std::int64_t parts = 1;   ///< that are cut alike, such as those of Q, K and V side by side
  std::int64_t shards = 0;  ///< 0: as many as there are devices
  std::int64_t units = 0;   ///< of a part, that stay whole: heads; 0: its elements
};

/// How the heads of an attention are shared out, and those of keys and values, which may be fewer.
struct Heads {
  std::int64_t keys = 0;
  Columns of_queries;
  Columns of_keys;
};

class TensorParallelPlanner {
 public:
  TensorParallelPlanner(const ir::Graph& graph, const TensorParallelOptions& options)
      : graph_(graph),
        devices_(options.devices),
        expert_groups_(options.expert_groups),
        context_groups_(options.context_groups),
        tokens_(options.tokens),
        products_(graph) {}

  TensorParallelPlan plan();

 private:
  // Blocks.
  std::optional<AttentionCore> core_of(OpId id);
  void cut_attention(const AttentionCore& core);
  std::optional<std::int64_t> fused_parts(const Block& block) const;
  Heads share_out(std::int64_t queries, std::int64_t keys) const;
  std::optional<std::int64_t> heads_before(OpId op, std::int64_t axis, std::int64_t heads) const;
  void cut_queries_keys_values(const Block& block, const Heads& heads);
  void gather_tokens(OpId reader, ValueId value, const Heads& heads, std::int64_t head);
  void find_vocabulary();
  void find_last_products();
  bool is_head(const Product& product) const;
  void cut_embeddings();
  void cut_pair(const Product& second);
  void cut_experts(const std::vector<Origin>& first, const Product& second);

  // Specs.
  ShardingSpec whole() const;
  ShardingSpec cut(std::int64_t axis, const Columns& columns = {}) const;
  std::optional<ir::ShardedAxis> tokens_of(ValueId value) const;
  std::int64_t stripes() const;
  ShardingSpec by_tokens(ValueId value, ShardingSpec of_group) const;
  ShardingSpec cut_by_expert(std::optional<std::int64_t> axis = {}, std::int64_t parts = 1) const;
  void say(OpId op, ValueId tensor, ShardingSpec spec) {
    plan_.specs.push_back({op, tensor, std::move(spec)});
  }
  void say_activation(OpId op, ValueId tensor, ShardingSpec of_group) {
    say(op, tensor, by_tokens(tensor, std::move(of_group)));
  }
  void say_weight(OpId op, ValueId weight, const ShardingSpec& spec);
  void cut_columns(const Product& product, const Columns& columns = {});
  void cut_rows(const Product& product, const Columns& rows = {});
  void say_result(OpId op, ValueId result);
  bool is_made_by(OpId op, ValueId value) const;
  bool take(OpId product) { return taken_.insert(product.index).second; }
  bool is_taken(OpId product) const { return taken_.contains(product.index); }

  const ir::Graph& graph_;
  std::int64_t devices_;
  std::int64_t expert_groups_;
  std::int64_t context_groups_;
  TokensBetweenBlocks tokens_;
  ProductGraph products_;
  std::set<std::int32_t> taken_;
  std::int64_t batch_ = ir::kUnknown;  ///< of the first attention found
  std::int64_t sequence_ = ir::kUnknown;
  bool sees_by_position_ = false;  ///< that attention
  std::vector<OpId> look_ups_;     ///< in tables of weights
  std::int64_t vocabulary_ = 0;    ///< rows of the largest of these
  std::set<OpId> last_products_;   ///< those behind which no other one is
  TensorParallelPlan plan_;
};

// Whether nothing but ops by element, on their first input, and other shapes lie between the op and the
// value.
bool TensorParallelPlanner::is_made_by(OpId op, ValueId value) const {
  for (OpId maker = products_.producer(value); maker.valid(); maker = products_.producer(value)) {
    if (maker == op) return true;
    if (!products_.is_by_element(graph_[maker]) && !is_any(graph_[maker], {"Reshape", "Flatten"}))
      return false;
    value = graph_[maker].inputs[0];
  }
  return false;
}

std::optional<AttentionCore> TensorParallelPlanner::core_of(OpId id) {
  const ir::Op& op = graph_[id];
  if (op.is("Attention")) {
    const std::int64_t* heads = ir::attribute_if<std::int64_t>(op, "q_num_heads");
    const ir::Type& q = graph_[op.inputs[0]].type;
    const std::int64_t width = products_.dim(op.inputs[0], -1);
    const bool is_flat = q.has_rank && q.rank() == 3;
    if (is_flat && (heads == nullptr || *heads < 1 || width == ir::kUnknown)) return std::nullopt;
    return AttentionCore{.op = id,
                         .k_reader = id,
                         .v_reader = id,
                         .q = op.inputs[0],
                         .k = op.inputs[1],
                         .v = op.inputs[2],
                         .result = op.outputs[0],
                         .head = is_flat ? width / *heads : width};
  }
  if (!op.is("Softmax")) return std::nullopt;
  const auto scores = products_.product_before(op.inputs[0]);
  const auto context = products_.product_after(op.outputs[0], Operand::Activation);
  if (!scores || !context) return std::nullopt;
  const ir::Op& first = graph_[*scores];
  const ir::Op& second = graph_[*context];
  // The weights of the sum are what Softmax made, some of them dropped perhaps; the other operand is V.
  const bool is_left =
      products_.product_before(second.inputs[0]) == scores || is_made_by(id, second.inputs[0]);
  return AttentionCore{.op = id,
                       .k_reader = *scores,
                       .v_reader = *context,
                       .q = first.inputs[0],
                       .k = first.inputs[1],
                       .v = second.inputs[is_left ? 1 : 0],
                       .result = second.outputs[0],
                       .head = first.is("MatMul") ? products_.dim(first.inputs[0], -1) : ir::kUnknown};
}

// How many equal parts the columns of a product that makes Q, K and V lie in: 3, or 1 where each head has its
// own three. Nothing where that cannot be told.
std::optional<std::int64_t> TensorParallelPlanner::fused_parts(const Block& block) const {
  const Origin& origin = block.q[0];
  if (origin.parts == 3) return 3;
  if (origin.parts != 1) return std::nullopt;
  ValueId at = graph_[origin.product].outputs[0];
  for (int steps = 0; steps < 8; ++steps) {
    if (products_.consumers(at).size() != 1) return std::nullopt;
    const ir::Op& op = graph_[products_.consumers(at)[0]];
    at = op.outputs[0];
    const ir::Type& type = graph_[at].type;
    if (op.is("Reshape") && type.has_rank && type.rank() >= 4) {
      return type.rank() == 5 && type.dims[2] == 3 ? 3 : 1;
    }
    if (!products_.is_by_element(op) && !op.is("Reshape")) return std::nullopt;
  }
  return std::nullopt;
}

// Even parts, where keys may be on several devices each; else parts of as many keys as another has, or one
// less, each with the queries that share them: devices may be left over. One key for all is on all.
Heads TensorParallelPlanner::share_out(std::int64_t queries, std::int64_t keys) const {
  Heads heads{.keys = keys, .of_queries = {}, .of_keys = {}};
  if (keys == 1 || (queries % devices_ == 0 && (keys % devices_ == 0 || devices_ % keys == 0))) {
    if (queries % devices_ != 0) heads.of_queries.units = queries;
    if (keys % devices_ != 0) heads.of_keys.shards = keys;
  } else {
    heads.of_queries.units = heads.of_keys.units = keys;
  }
  return heads;
}

// The axis of a movement's input that has the heads which an axis of its output has, alone or with what
// follows them; nothing for other ops.
std::optional<std::int64_t> TensorParallelPlanner::heads_before(OpId id, std::int64_t axis,
                                                                std::int64_t heads) const {
  const ir::Op& op = graph_[id];
  if (is_any(op, {"Identity", "Cast"})) return axis;
  if (op.is("Transpose")) {
    const auto* order = ir::attribute_if<ir::IntList>(op, "perm");
    return order == nullptr ? graph_[op.outputs[0]].type.rank() - 1 - axis : (*order)[axis];
  }
  const ir::Type& from = graph_[op.inputs[0]].type;
  const ir::Type& to = graph_[op.outputs[0]].type;
  if (!is_any(op, {"Reshape", "Expand", "Unsqueeze"}) || !from.is_static() || !to.is_static())
    return std::nullopt;
  const auto outside = [](const ir::Dims& dims, std::int64_t of) {
    return ir::element_count(ir::Dims(dims.begin(), dims.begin() + of));
  };
  for (std::int64_t at = 0; at < from.rank(); ++at) {
    if (outside(from.dims, at) == outside(to.dims, axis) && from.dims[at] % heads == 0) return at;
  }
  return std::nullopt;
}

// Follows keys or values back while nothing but movements has made them. The first of these movements reads
// the tokens of all groups.
void TensorParallelPlanner::gather_tokens(OpId reader, ValueId value, const Heads& heads, std::int64_t head) {
  constexpr int kHeadsApart = 4;  // axes of [batch, heads, tokens, elements]
  if (context_groups_ == 1) return;
  const bool are_apart = graph_[value].type.rank() == kHeadsApart;
  if (!are_apart && !graph_[reader].is("Attention"))
    throw Error(
        "{}: keys or values of rank {} found, [batch, heads, tokens, elements] needed to gather tokens",
        graph_.describe(graph_[reader]), graph_[value].type.rank());
  std::int64_t axis = are_apart ? 1 : 2;
  for (OpId id = products_.producer(value); id.valid(); id = products_.producer(value)) {
    const auto before = heads_before(id, axis, heads.keys);
    if (!before) break;
    reader = id;
    value = graph_[id].inputs[0];
    axis = *before;
  }
  // Copies for several queries are shared out as these are.
  const std::int64_t width = products_.dim(value, axis);
  const bool are_copies = width != heads.keys && width != heads.keys * head;
  say(reader, value, cut(axis, are_copies ? heads.of_queries : heads.of_keys));
}

// Columns of unlike widths are no parts of one cut: they are shared out as they come, and what a Split makes
// of them by heads.
void TensorParallelPlanner::cut_queries_keys_values(const Block& block, const Heads& heads) {
  std::set<std::int32_t> seen;
  for (const auto* list : {&block.q, &block.k, &block.v}) {
    const Origin& origin = list->front();
    Columns columns = list == &block.q ? heads.of_queries : heads.of_keys;
    const bool is_first = seen.insert(origin.product.index).second;
    if (origin.part.valid()) {
      if (is_first) cut_columns(*products_.find(origin.product));
      say_activation(products_.producer(origin.part), origin.part, cut(-1, columns));
    } else if (is_first) {
      columns.parts = origin.parts;
      cut_columns(*products_.find(origin.product), columns);
    }
  }
}

void TensorParallelPlanner::cut_attention(const AttentionCore& core) {
  const auto origins_of = [&](ValueId value) {
    return products_.origins(value, Between::Heads).value_or(std::vector<Origin>{});
  };
  const auto projection = products_.product_after(core.result, Operand::Weight);
  Block block{origins_of(core.q), origins_of(core.k), origins_of(core.v), projection.value_or(OpId{})};
  if (!projection || block.q.size() != 1 || block.k.size() != 1 || block.v.size() != 1) return;
  if (core.head <= 0 || is_taken(*projection)) return;
  std::map<std::int32_t, Origin> sources;
  for (const auto& list : {block.q, block.k, block.v}) sources.emplace(list[0].product.index, list[0]);
  if (std::ranges::any_of(sources, [&](const auto& source) { return taken_.contains(source.first); })) return;
  if (batch_ == ir::kUnknown) {
    batch_ = products_.dim(core.q, 0);
    sequence_ = products_.dim(core.q, graph_[core.q].type.rank() == 3 ? 1 : -2);
    sees_by_position_ = graph_[core.op].is("Attention") && ir::sees_by_position({graph_, graph_[core.op]});
  }
  const auto heads_of = [&](const Origin& origin) {
    const std::int64_t width = origin.part.valid() ? products_.dim(origin.part, -1)
                                                   : products_.find(origin.product)->columns / origin.parts;
    return width / core.head;
  };
  if (sources.size() == 1 && !block.q[0].part.valid()) {
    const auto parts = fused_parts(block);
    if (!parts) return;
    for (auto* list : {&block.q, &block.k, &block.v}) list->front().parts = *parts;
  }
  const bool has_own_thirds = sources.size() == 1 && block.q[0].parts == 1;  // each head
  const std::int64_t queries = heads_of(block.q[0]) / (has_own_thirds ? 3 : 1);
  const std::int64_t keys = has_own_thirds ? queries : heads_of(block.k[0]);
  if (keys < 1 || queries % keys != 0) return;
  const Heads heads = share_out(queries, keys);
  const std::int64_t units = heads.of_queries.units;
  if (units > 0 && units < devices_) plan_.leaves_devices_over = true;
  cut_queries_keys_values(block, heads);
  gather_tokens(core.k_reader, core.k, heads, core.head);
  gather_tokens(core.v_reader, core.v, heads, core.head);
  for (const auto& [id, origin] : sources) take(origin.product);
  take(*projection);
  cut_rows(*products_.find(*projection), heads.of_queries);
  ++plan_.attentions;
}

void TensorParallelPlanner::find_vocabulary() {
  for (OpId id : graph_.op_ids()) {
    const ir::Op& op = graph_[id];
    if (!op.is("Gather") || !products_.is_weight(op.inputs[0]) || products_.is_weight(op.inputs[1])) continue;
    const ir::Type& table = graph_[op.inputs[0]].type;
    if (!table.is_static() || table.rank() != 2) continue;
    if (ir::attribute<std::int64_t>(op, "axis") != 0 || table.dims[0] < devices_) continue;
    look_ups_.push_back(id);
    vocabulary_ = std::max(vocabulary_, table.dims[0]);
  }
}

void TensorParallelPlanner::find_last_products() {
  ir::IdMap<ValueId, bool> leads_to_product(std::ssize(graph_.values), false);
  std::vector<OpId> from_the_last;
  for (OpId id : graph_.op_ids()) from_the_last.push_back(id);
  for (OpId id : from_the_last | std::views::reverse) {
    const bool leads = ir::any_of(outputs_of(graph_[id]), leads_to_product);
    const bool is_product = products_.find(id) != nullptr;
    if (is_product && !leads) last_products_.insert(id);
    if (!is_product && !leads) continue;
    for (ValueId input : inputs_of(graph_[id])) leads_to_product[input] = true;
  }
}

// A model may have as many features as words: what other products read are features.
bool TensorParallelPlanner::is_head(const Product& product) const {
  return product.columns == vocabulary_ && product.experts == 0 && last_products_.contains(product.op);
}

void TensorParallelPlanner::cut_embeddings() {
  for (OpId id : look_ups_) {
    const ir::Op& op = graph_[id];
    if (graph_[op.inputs[0]].type.dims[0] != vocabulary_) continue;
    say_weight(id, op.inputs[0], cut(0));
    say_activation(id, op.inputs[1], whole());
    say_result(id, op.outputs[0]);
    ++plan_.embeddings;
  }
  for (const Product& product : products_.products()) {
    if (plan_.embeddings == 0 || !is_head(product) || !take(product.op)) continue;
    cut_columns(product);
    ++plan_.heads;
  }
}

void TensorParallelPlanner::cut_pair(const Product& second) {
  if (is_taken(second.op)) return;
  const bool is_convolution = second.is_convolution;
  const auto found =
      products_.origins(graph_[second.op].inputs[0], is_convolution ? Between::Channels : Between::Mlp);
  if (!found || found->empty()) return;
  const ValueId x = products_.without_reshapes(graph_[found->front().product].inputs[0]);
  for (const Origin& origin : *found) {
    const Product& first = *products_.find(origin.product);
    if (is_taken(first.op) || first.is_convolution != is_convolution) return;
    if (first.experts != second.experts) return;
    if (products_.without_reshapes(graph_[first.op].inputs[0]) != x ||
        first.columns / origin.parts < devices_)
      return;
  }
  for (const Origin& origin : *found) take(origin.product);
  take(second.op);
  if (second.experts > 0) return cut_experts(*found, second);
  for (const Origin& origin : *found) cut_columns(*products_.find(origin.product), {.parts = origin.parts});
  cut_rows(second);
  ++(is_convolution ? plan_.convolution_pairs : plan_.mlps);
}

// The rows of an expert come to its group where they are there by expert; else each group has all rows.
void TensorParallelPlanner::cut_experts(const std::vector<Origin>& first, const Product& second) {
  if (context_groups_ > 1) {
    throw Error("{}: experts found, none needed where groups share out the tokens",
                graph_.describe(graph_[second.op]));
  }
  if (second.experts % expert_groups_ != 0) {
    throw Error("{}: {} experts found for {} groups of devices, a multiple needed",
                graph_.describe(graph_[second.op]), second.experts, expert_groups_);
  }
  for (const Origin& origin : first) {
    const ir::Op& op = graph_[origin.product];
    const bool is_by_expert = products_.dim(op.inputs[0], 0) == second.experts;
    say(origin.product, op.inputs[0], is_by_expert ? cut_by_expert() : whole());
    say(origin.product, op.inputs[1], cut_by_expert(2, origin.parts));
    say(origin.product, op.outputs[0], cut_by_expert(-1, origin.parts));
  }
  const ir::Op& op = graph_[second.op];
  say(second.op, op.inputs[0], cut_by_expert(-1));
  say(second.op, op.inputs[1], cut_by_expert(1));
  say(second.op, op.outputs[0], cut_by_expert());
  ++plan_.expert_mlps;
}

TensorParallelPlan TensorParallelPlanner::plan() {
  for (OpId id : graph_.op_ids()) {
    if (const auto core = core_of(id)) cut_attention(*core);
  }
  // A head is no second product of a pair.
  find_vocabulary();
  find_last_products();
  for (const Product& product : products_.products()) {
    if (!is_head(product)) cut_pair(product);
  }
  cut_embeddings();
  for (const Product& product : products_.products()) cut_pair(product);
  for (const Product& product : products_.products()) {
    if (!is_taken(product.op)) plan_.left_whole.push_back(product.op);
  }
  if (expert_groups_ > 1 && plan_.expert_mlps == 0)
    throw Error("no MLP of experts found, one with weights [experts, in, out] needed for groups of experts");
  if (plan_.attentions + plan_.mlps + plan_.expert_mlps + plan_.convolution_pairs + plan_.heads == 0) {
    const auto with_body =
        std::ranges::find_if(graph_.ops, [](const ir::Op& op) { return ir::has_body(op); });
    throw Error("no attention, MLP or pair of convolutions found{}, one needed",
                with_body == graph_.ops.end()
                    ? ""
                    : fmt::format(" outside of {}, whose bodies are not cut", graph_.describe(*with_body)));
  }
  if ((tokens_ == TokensBetweenBlocks::Cut || context_groups_ > 1) && plan_.attentions == 0)
    throw Error("no attention found, one needed that says where the tokens are");
  return std::move(plan_);
}

ShardingSpec TensorParallelPlanner::whole() const { return whole_on(devices_ * context_groups_); }

/// In as many shards as a group has devices, or fewer that several hold. All groups have the same.
ShardingSpec TensorParallelPlanner::cut(std::int64_t axis, const Columns& columns) const {
  const std::int64_t shards = columns.shards == 0 ? devices_ : columns.shards;
  if (shards == 1) return whole();
  ShardingSpec spec;
  spec.holders.resize(static_cast<std::size_t>(shards));
  for (std::int64_t device = 0; device < devices_ * context_groups_; ++device)
    spec.holders[static_cast<std::size_t>(device % devices_ / (devices_ / shards))].push_back(device);
  ir::ShardedAxis& cut_axis = spec.axes.emplace_back(ir::ShardedAxis{.axis = axis, .factors = {}});
  if (columns.parts > 1) cut_axis.factors.push_back({.size = columns.parts, .shards = 1});
  if (columns.units > 0) {
    cut_axis.factors.push_back({.size = columns.units, .shards = shards});
    cut_axis.factors.push_back({.size = {}, .shards = 1});
  } else {
    cut_axis.factors.push_back({.size = {}, .shards = shards});
  }
  return spec;
}

/// In how many stretches of tokens each group has its part, dealt out in turn: where queries see the tokens
/// before them the last of one stretch for each group would have most of the work. 16 leave it a sixteenth
/// more than the mean at most (Striped Attention, Brandon et al. 2023, deals out single tokens).
std::int64_t TensorParallelPlanner::stripes() const {
  constexpr std::int64_t kMostStripes = 16;
  if (context_groups_ == 1 || !sees_by_position_) return 1;
  std::int64_t stripes = kMostStripes;
  while (sequence_ % (stripes * context_groups_ * devices_) != 0 && stripes > 1) stripes /= 2;
  return stripes;
}

/// Where the tokens of indices [batch, tokens] and activations [batch, tokens, features] or [all tokens,
/// features] lie, in one shard; nothing for what has none.
std::optional<ir::ShardedAxis> TensorParallelPlanner::tokens_of(ValueId value) const {
  const ir::Type& type = graph_[value].type;
  if (!type.is_static() || sequence_ == ir::kUnknown) return std::nullopt;
  const bool are_indices = type.element == ir::DataType::Int64 || type.element == ir::DataType::Int32;
  const auto in_stripes = [this](ir::ShardedAxis axis) {
    if (stripes() > 1) axis.factors.push_back({.size = stripes(), .shards = 1});
    axis.factors.push_back({.size = {}, .shards = 1});
    return axis;
  };
  if (type.rank() == (are_indices ? 2 : 3) && type.dims[1] == sequence_)
    return in_stripes({.axis = 1, .factors = {}});
  if (are_indices || type.rank() != 2 || type.dims[0] != batch_ * sequence_) return std::nullopt;
  ir::ShardedAxis rows{.axis = 0, .factors = {}};
  if (batch_ > 1) rows.factors.push_back({.size = batch_, .shards = 1});
  return in_stripes(std::move(rows));
}

/// The groups share out the tokens; the devices of each have what is said of a group.
ShardingSpec TensorParallelPlanner::by_tokens(ValueId value, ShardingSpec of_group) const {
  auto tokens = tokens_of(value);
  if (context_groups_ == 1 || !tokens) return of_group;
  tokens->factors.back().shards = context_groups_;
  ShardingSpec spec{.holders = {}, .axes = std::move(of_group.axes)};
  spec.axes.insert(spec.axes.begin(), *tokens);
  for (std::int64_t group = 0; group < context_groups_; ++group) {
    for (const auto& all : of_group.holders) {
      auto& own = spec.holders.emplace_back();
      for (std::int64_t device : all) {
        if (device / devices_ == group) own.push_back(device);
      }
    }
  }
  return spec;
}

/// Axis 0 over the groups, and an axis over the devices of each; without one all of a group hold the same.
ShardingSpec TensorParallelPlanner::cut_by_expert(std::optional<std::int64_t> axis,
                                                  std::int64_t parts) const {
  const std::int64_t each = devices_ / expert_groups_;
  if (expert_groups_ == 1) return axis ? cut(*axis, {.parts = parts}) : whole();
  ShardingSpec spec = cut(0, {.shards = expert_groups_});
  if (!axis || each == 1) return spec;
  ShardingSpec inner = cut(*axis, {.parts = parts});
  inner.axes[0].factors.back().shards = each;
  inner.axes.insert(inner.axes.begin(), spec.axes[0]);
  return inner;
}

// A weight that a Transpose turns is said on both of its sides.
void TensorParallelPlanner::say_weight(OpId op, ValueId weight, const ShardingSpec& spec) {
  say(op, weight, spec);
  if (spec.axes.empty()) return;
  const OpId maker = products_.producer(weight);
  if (!maker.valid() || !graph_[maker].is("Transpose") || graph_[weight].type.rank() != 2) return;
  say(maker, weight, spec);
  ShardingSpec turned = spec;
  turned.axes[0].axis = 1 - turned.axes[0].axis;
  say(maker, graph_[maker].inputs[0], std::move(turned));
}

void TensorParallelPlanner::cut_columns(const Product& product, const Columns& columns) {
  const ir::Op& op = graph_[product.op];
  say_activation(product.op, op.inputs[0], whole());
  say_weight(product.op, op.inputs[product.weight], cut(product.columns_axis, columns));
  const bool has_bias = product.bias < op.inputs.size() && op.inputs[product.bias].valid();
  if (has_bias && products_.dim(op.inputs[product.bias], -1) == product.columns)
    say(product.op, op.inputs[product.bias], cut(-1, columns));
  say_activation(product.op, op.outputs[0], cut(product.feature_axis, columns));
  for (OpId reader : products_.consumers(op.outputs[0])) {
    const ir::Op& next = graph_[reader];
    if (!next.is("Add")) continue;
    for (ValueId bias : next.inputs) {
      if (products_.is_weight(bias) && products_.dim(bias, -1) == product.columns)
        say(reader, bias, cut(-1, columns));
    }
  }
}

void TensorParallelPlanner::cut_rows(const Product& product, const Columns& rows) {
  const ir::Op& op = graph_[product.op];
  say_activation(product.op, op.inputs[0], cut(product.feature_axis, rows));
  say_weight(product.op, op.inputs[product.weight], cut(product.rows_axis, rows));
  say_result(product.op, op.outputs[0]);
}

// The tokens of a result of rank 3 are its axis 1. Rows of a result of rank 2 are those of all sequences;
// where nobody knows how many sequences there are, the Reshape that gives them an axis has the cut.
void TensorParallelPlanner::say_result(OpId op, ValueId result) {
  const ir::Type& type = graph_[result].type;
  const Product* product = products_.find(op);
  const bool is_image = product != nullptr && product->is_convolution;
  const bool has_tokens = tokens_ == TokensBetweenBlocks::Cut && type.has_rank && !is_image;
  if (!has_tokens) return say_activation(op, result, whole());
  if (const auto tokens = tokens_of(result); tokens && context_groups_ > 1) {
    ir::ShardedAxis axis = *tokens;
    axis.factors.back().shards = devices_ * context_groups_;
    return say(op, result, one_on_each(std::move(axis), devices_ * context_groups_));
  }
  if (type.rank() == 3) return say(op, result, cut(1));
  if (type.rank() != 2) return say(op, result, whole());
  if (batch_ != ir::kUnknown && sequence_ != ir::kUnknown && type.dims[0] == batch_ * sequence_)
    return say(op, result, batch_ == 1 ? cut(0) : cut(0, {.parts = batch_}));
  for (OpId reader : products_.consumers(result)) {
    const ir::Op& next = graph_[reader];
    if (next.is("Reshape") && graph_[next.outputs[0]].type.rank() == 3)
      return say(reader, next.outputs[0], cut(1));
  }
  say(op, result, whole());
}

std::string counted(std::int64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

}  // namespace

TensorParallelPlan plan_tensor_parallel(const ir::Graph& graph, const TensorParallelOptions& options) {
  if (options.devices % options.expert_groups != 0) {
    throw Error("{} groups of experts found for {} devices, a divisor needed", options.expert_groups,
                options.devices);
  }
  if (options.images.devices() > 1) return cut_images(graph, options.images);
  return TensorParallelPlanner(graph, options).plan();
}

std::string to_string(const TensorParallelPlan& plan, const ir::Graph& graph,
                      const TensorParallelOptions& options) {
  std::vector<std::string> found;
  const auto add = [&](int count, std::string_view one) {
    if (count > 0) found.push_back(counted(count, one));
  };
  add(plan.attentions, "attention block");
  add(plan.mlps, "MLP");
  add(plan.expert_mlps, "expert layer");
  add(plan.convolution_pairs, "convolution pair");
  add(plan.images, "image");
  add(plan.embeddings, "embedding");
  add(plan.heads, "head");
  const std::string of_groups =
      options.context_groups == 1
          ? ""
          : fmt::format(", tokens over {} groups of {}", options.context_groups, options.devices);
  std::string text =
      fmt::format("{} cut over {} devices{}", fmt::join(found, ", "),
                  options.devices * options.context_groups * options.images.devices(), of_groups);
  if (plan.left_whole.empty()) return text;
  constexpr std::size_t kMostNames = 3;
  std::vector<std::string_view> names;
  for (OpId id : plan.left_whole) {
    if (names.size() < kMostNames) names.push_back(name_of(graph, graph[id]));
  }
  return fmt::format(
      "{}; {} whole: {}{}", text,
      counted(std::ssize(plan.left_whole), "product") + (plan.left_whole.size() == 1 ? " stays" : " stay"),
      fmt::join(names, ", "), plan.left_whole.size() > kMostNames ? ", ..." : "");
}

}  // namespace podium::annotate
