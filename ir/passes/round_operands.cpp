// A product sums over an axis of each operand; blocks lie along it:
//
//   t = Transpose(x)   dw = MatMul(t, dy)        x8 = RoundToBlocks(x)   t8 = Transpose(x8)
//                                                dy8 = RoundToBlocks(dy) dw = MatMul(t8, dy8)
// What brings x into another order stays between, where blocks are the same in front of it.
#include "ir/passes/round_operands.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "ir/annotation.h"
#include "ir/error.h"
#include "ir/ops/block_rounding.h"
#include "ir/passes/inherit_placement.h"
#include "ir/verify.h"

namespace podium::ir {
namespace {

bool is_matrix_product(const Op& op) { return op.is("MatMul") || op.is("Gemm"); }

bool gets_narrow_operands(const Graph& graph, const Op& op) {
  return asks_for_narrow_operands(op) && kFloats.contains(graph[op.inputs[0]].type.element);
}

// The axis over which the product sums, of its operand.
std::int64_t inner_axis(const Op& op, std::size_t operand, int rank) {
  if (op.is("Gemm")) {
    const auto* turned = attribute_if<std::int64_t>(op, operand == 0 ? "transA" : "transB");
    const bool is_turned = turned != nullptr && *turned != 0;
    return (operand == 0) == is_turned ? 0 : 1;
  }
  return operand == 0 ? rank - 1 : std::max(0, rank - 2);
}

// The axis of the first input of a view or Transpose along which blocks are those along an axis of its
// result.
std::optional<std::int64_t> axis_before(const Graph& graph, const Op& op, std::int64_t axis) {
  if (op.is("Transpose")) {
    const auto* order = attribute_if<IntList>(op, "perm");
    return order != nullptr ? (*order)[axis] : graph[op.outputs[0]].type.rank() - 1 - axis;
  }
  if (!op.spec->view || op.inputs.empty() || !op.inputs[0].valid()) return std::nullopt;
  const Type& from = graph[op.inputs[0]].type;
  const Type& to = graph[op.outputs[0]].type;
  if (!from.is_static() || !to.is_static() || from.element != to.element) return std::nullopt;
  std::int64_t behind = 1;  // elements from one to the next along the axis
  for (std::int64_t i = to.rank() - 1; i > axis; --i) behind *= to.dims[i];
  std::int64_t stride = 1;
  for (std::int64_t i = from.rank() - 1; i >= 0; stride *= from.dims[i--]) {
    if (stride != behind || from.dims[i] == 1) continue;
    const bool is_whole = from.dims[i] == to.dims[axis];
    const bool has_blocks = from.dims[i] % kRoundedBlock == 0 && to.dims[axis] % kRoundedBlock == 0;
    return is_whole || has_blocks ? std::optional(i) : std::nullopt;
  }
  return std::nullopt;
}

// Rounds in front of what only brings numbers into another order, so that products that read them in several
// have them rounded once, and such orders stay next to their products.
class Rounder {
 public:
  explicit Rounder(Graph& graph) : graph_(graph) {}

  void run() {
    for (Op& op : std::exchange(graph_.ops, {})) {
      if (gets_narrow_operands(graph_, op)) {
        for (std::size_t operand = 0; operand < 2; ++operand) {
          const ValueId id = op.inputs[operand];
          const Type& type = graph_[id].type;
          if (!type.has_rank)
            throw Error(
                "{}: '{}' found, a tensor whose dimensions are known before the run needed for operands "
                "in 8 bits",
                graph_.describe(op), graph_[id].name);
          op.inputs[operand] = rounded(id, inner_axis(op, operand, type.rank()), op);
        }
      }
      append(std::move(op));
    }
  }

 private:
  void append(Op op) {
    for (ValueId made : outputs_of(op)) makers_[made] = graph_.ops.size();
    graph_.ops.push_back(std::move(op));
  }

  ValueId rounded(ValueId id, std::int64_t axis, const Op& product) {
    const auto maker = makers_.find(id);
    if (maker != makers_.end()) {
      const Op& view = graph_.ops[maker->second];
      if (const auto before = axis_before(graph_, view, axis)) {
        Op again = where_product_is(view, product);
        again.inputs[0] = rounded(again.inputs[0], *before, product);
        const ValueId result = like(id);
        again.outputs = {result};
        append(std::move(again));
        return result;
      }
    }
    Op round{.spec = find_op("podium", "RoundToBlocks"),
             .name = product.name,
             .inputs = {id},
             .outputs = {like(id)},
             .attributes = place_of(product)};
    set_attribute(round, "axis", axis);
    const ValueId result = round.outputs[0];
    append(std::move(round));
    return result;
  }

  // A gradient may read what a forward op in another stage has brought into another order.
  static Op where_product_is(Op view, const Op& product) {
    view.name = product.name;
    std::erase_if(view.attributes, [](const Attribute& each) { return is_annotation(each.name); });
    for (Attribute& place : place_of(product)) view.attributes.push_back(std::move(place));
    return view;
  }

  ValueId like(ValueId id) {
    const Type type = graph_[id].type;
    return graph_.add_value(graph_.fresh_name(graph_[id].name), type);
  }

  Graph& graph_;
  std::map<ValueId, std::size_t> makers_;  ///< places of ops by what they make
};

}  // namespace

bool asks_for_narrow_operands(const Op& op) {
  const auto* told = attribute_if<std::string>(op, kOperandsType);
  return is_matrix_product(op) && told != nullptr && *told == kMxFp8;
}

void ask_for_narrow_operands(Graph& graph, const std::set<ValueId>& weights) {
  std::set<ValueId> known = weights;
  const auto is_weight = [&](ValueId id) {
    return id.valid() && (known.contains(id) || graph.is_constant(id) || graph[id].data_left_out);
  };
  for (Op& op : graph.ops) {
    if (changes_form(op) && is_weight(op.inputs[0])) known.insert(op.outputs.begin(), op.outputs.end());
    const bool has_own =
        find_attribute(op, kOperandsType) != nullptr || find_attribute(op, kMultipliesBytes) != nullptr;
    if (!is_matrix_product(op) || has_own) continue;
    if (is_weight(op.inputs[0]) || is_weight(op.inputs[1]))
      set_attribute(op, kOperandsType, std::string(kMxFp8));
  }
}

bool round_operands(Graph& graph) {
  const auto gets = [&](const Op& op) { return gets_narrow_operands(graph, op); };
  if (std::ranges::none_of(graph.ops, gets)) return false;
  Rounder(graph).run();
  return true;
}

}  // namespace podium::ir
