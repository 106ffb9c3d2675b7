#include "executor/sim/attention_scores.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "executor/sim/products.h"

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

}  // namespace

std::set<ValueId> scores_of(const ir::Graph& graph) {
  std::set<ScoreShape> shapes;
  for (const Op& op : graph.ops) {
    if (!makes_scores(graph, op)) continue;
    const ScoreShape found = *shape_of_scores(graph[op.outputs[0]].type);
    shapes.insert(found);
    shapes.insert({found[0], found[2], found[1]});
  }
  std::set<ValueId> scores;
  if (shapes.empty()) return scores;
  for (ValueId id : graph.value_ids()) {
    const auto shape = shape_of_scores(graph[id].type);
    if (shape && shapes.contains(*shape)) scores.insert(id);
  }
  return scores;
}

double stored_width(const ir::Graph& graph, const ir::IdMap<ValueId, ir::OpId>& makers, ValueId id) {
  int bits = ir::bit_width(graph[id].type.element);
  while (makers[id].valid()) {
    const Op& op = graph[makers[id]];
    if (!op.spec->view && !op.is("Cast") && !op.is("Transpose")) break;
    id = op.inputs[0];
    bits = std::min(bits, ir::bit_width(graph[id].type.element));
  }
  return bits / 8.0;
}

}  // namespace podium::sim
