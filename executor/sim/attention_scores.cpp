// Products of heads that leave more numbers than they read are scores; what has their shape, or that with the
// last two axes in turn, is of them too, and ops between them join them into kernels (a disjoint-set forest).
// What brings operands into another form is found backwards from products, of results forwards.
#include "executor/sim/attention_scores.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <ranges>
#include <set>

#include "executor/sim/products.h"
#include "ir/disjoint_sets.h"
#include "ir/ops/attention.h"

namespace podium::sim {
namespace {

using ir::Op;
using ir::ValueId;

bool has_static_shape(const ir::Type& type) { return type.is_tensor() && type.is_static(); }

// Whether the op makes scores of attention: many products over the features of a head, fewer than there are
// positions on either side.
bool makes_scores(const ir::Graph& graph, const Op& op) {
  if (!op.is("MatMul")) return false;
  for (ValueId id : {op.inputs[0], op.inputs[1], op.outputs[0]}) {
    if (!has_static_shape(graph[id].type)) return false;
  }
  const std::vector<RepeatedProduct> products = products_of(ir::TypedOp(graph, op));
  if (products.empty()) return false;
  constexpr double kWidestHead = 256;
  const Product& product = products[0].product;
  return product.count > 1 && product.inner <= kWidestHead && product.inner < product.rows &&
         product.inner < product.columns;
}

// What scores of attention are known by, whatever their heads are counted in: how many they are, and their
// last two dimensions.
using ScoreShape = std::array<std::int64_t, 3>;

std::optional<ScoreShape> shape_of_scores(const ir::Type& type) {
  if (!has_static_shape(type) || type.dims.size() < 2) return std::nullopt;
  return ScoreShape{type.element_count(), type.dims[type.dims.size() - 2], type.dims.back()};
}

constexpr double kHalf = 0.5;

// Scores and results are made in 2 products, gradients in 5: scores and their gradients, and those of Q, K,
// V.
constexpr int kForward = 2;
constexpr int kBackward = 5;
// FlashAttention 2 on H100, heads of 128, 16,384 positions: 370 TFLOP/s forward, 338 with backward
// (docs/cost-model.md).
constexpr double kBackwardRate = 0.87;

// Of a kernel of so many products in the graph: none but gradients have more than two of their own.
bool goes_back(int products) { return products >= kBackward - 1; }

double repeats_of(int products) {
  if (!goes_back(products)) return 1;
  const bool has_forward = products > kBackward;
  return ((has_forward ? kForward : 0) + kBackward / kBackwardRate) / products;
}

// Of scores each row of which sees positions of its own, in all samples and heads the same.
bool is_mask_of_positions(const ir::Type& type) {
  if (!has_static_shape(type) || type.dims.size() < 2) return false;
  const std::int64_t rows = type.dims[type.dims.size() - 2];
  const std::int64_t columns = type.dims.back();
  return rows > 1 && columns > 1 && type.element_count() == rows * columns;
}

double stored_width(const ir::Graph& graph, const ir::IdMap<ValueId, ir::OpId>& makers, ValueId id) {
  int bits = ir::bit_width(graph[id].type.element);
  while (makers[id].valid()) {
    const Op& op = graph[makers[id]];
    if (!changes_form(op)) break;
    id = op.inputs[0];
    bits = std::min(bits, ir::bit_width(graph[id].type.element));
  }
  return bits / 8.0;
}

}  // namespace

AttentionScores::AttentionScores(const ir::Graph& graph) {
  find(graph);
  if (empty()) return;
  const auto makers = producers(graph);
  std::vector<int> products(kernels_.size(), 0);
  for (const Op& op : graph.ops) {
    const auto place = place_of(op);
    if (!place) continue;
    Kernel& kernel = kernels_[*place];
    const bool multiplies = op.spec->category == ir::Category::MatrixProduct;
    products[*place] += multiplies ? 1 : 0;
    if (contains(op.outputs[0])) kernel.in_blocks |= ir::attends_in_blocks(graph[op.outputs[0]].type.dims);
    for (ValueId id : inputs_of(op)) {
      if (contains(id)) continue;
      if (multiplies) kernel.width = std::min(kernel.width, stored_width(graph, makers, id));
      const bool hides = op.is("Where") ? id == op.inputs[0] : op.is("Add");
      if (hides && is_mask_of_positions(graph[id].type)) kernel.share_seen = kHalf;
    }
  }
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    kernels_[i].repeats = repeats_of(products[i]);
    kernels_[i].goes_back = goes_back(products[i]);
  }
  find_ways(graph);
}

// Backwards from operands, whose other readers are all known by then, and forwards from results.
void AttentionScores::find_ways(const ir::Graph& graph) {
  const auto multiplies = [&](const Op& op) {
    return op.spec->category == ir::Category::MatrixProduct && touched_by(op);
  };
  std::set<ValueId> read_otherwise(graph.outputs.begin(), graph.outputs.end());
  for (const Op& op : graph.ops | std::views::reverse) {
    const bool is_way =
        changes_form(op) && !contains(op.outputs[0]) && !read_otherwise.contains(op.outputs[0]);
    if (is_way) ways_.insert(op.outputs[0]);
    if (is_way || multiplies(op)) continue;
    for (ValueId id : inputs_of(op)) read_otherwise.insert(id);
  }
  std::set<ValueId> made;
  for (const Op& op : graph.ops) {
    const bool is_way = changes_form(op) && made.contains(op.inputs[0]) && !contains(op.outputs[0]);
    if (is_way) ways_.insert(op.outputs[0]);
    if ((is_way || multiplies(op)) && !contains(op.outputs[0])) made.insert(op.outputs[0]);
  }
}

bool AttentionScores::is_on_the_way(const Op& op) const {
  return changes_form(op) && ways_.contains(op.outputs[0]);
}

const AttentionScores::Kernel* AttentionScores::kernel_of(const Op& op) const {
  const auto place = place_of(op);
  return place ? &kernels_[*place] : nullptr;
}

// Scores that an op makes of others are of the same kernel.
void AttentionScores::find(const ir::Graph& graph) {
  std::set<ScoreShape> shapes;
  for (const Op& op : graph.ops) {
    if (!makes_scores(graph, op)) continue;
    const ScoreShape found = *shape_of_scores(graph[op.outputs[0]].type);
    shapes.insert(found);
    shapes.insert({found[0], found[2], found[1]});
  }
  if (shapes.empty()) return;
  for (ValueId id : graph.value_ids()) {
    const auto shape = shape_of_scores(graph[id].type);
    if (shape && shapes.contains(*shape)) places_.emplace(id, 0);
  }
  ir::DisjointSets sets(graph.values.size());
  for (const Op& op : graph.ops) {
    std::optional<ValueId> first;
    for (const auto& values : {inputs_of(op), outputs_of(op)}) {
      for (ValueId id : values) {
        if (!contains(id)) continue;
        sets.join(first.value_or(id).index, id.index);
        first = first.value_or(id);
      }
    }
  }
  std::map<std::size_t, std::size_t> kernel_of_set;
  for (auto& [id, place] : places_)
    place = kernel_of_set.try_emplace(sets.find(id.index), kernel_of_set.size()).first->second;
  kernels_.resize(kernel_of_set.size());
}

std::optional<std::size_t> AttentionScores::place_of(const Op& op) const {
  for (const auto& values : {inputs_of(op), outputs_of(op)}) {
    for (ValueId id : values) {
      if (const auto found = places_.find(id); found != places_.end()) return found->second;
    }
  }
  return std::nullopt;
}

}  // namespace podium::sim
