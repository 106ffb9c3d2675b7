// Two patterns, op by op in graph order. A MatMul takes over the Transposes and the scalings by a number of
// its inputs and of its one reader, as permutations and a scale of one StridedMatMul; a Transpose is left
// alone where the product would no longer read whole rows or columns. A product that is transposed is that of
// its transposed factors, the second one first. Of one matrix for all rows of a batch, as weights are that
// change, the product takes over the Transpose alone. A Softmax over the last axis takes over the mask added
// to its input (or the Where with a very low number, which becomes an added mask), as a MaskedSoftmax. Two
// such products with a softmax between them that nothing else reads are one StridedAttention, which never has
// all scores in memory.
#include "executor/numeric/fuse_attention.h"

#include <algorithm>
#include <numeric>

#include "executor/numeric/rewriter.h"
#include "ir/ops/attention.h"
#include "ir/permutation.h"

namespace podium::numeric {

using ir::IntList;
using ir::Op;
using ir::OpId;
using ir::Tensor;
using ir::ValueId;

namespace {

IntList identity(int rank) {
  IntList permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  return permutation;
}

IntList permutation_of(const Op& transpose, int rank) {
  const auto* given = ir::attribute_if<IntList>(transpose, "perm");
  if (given != nullptr && !given->empty()) return *given;
  IntList reversed = identity(rank);
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

// A factor of a product: scale * Transpose(value, permutation).
struct Factor {
  ValueId value;
  IntList permutation;
  double scale = 1;
};

// The number that an op multiplies its other input by, and that input.
std::optional<std::pair<double, ValueId>> scaling(const Rewriter& rewriter, const Op& op) {
  const bool is_mul = op.is("Mul");
  if (!is_mul && !op.is("Div")) return std::nullopt;
  const bool first_is_value = rewriter.number(op.inputs[1]).has_value();
  if (!first_is_value && !is_mul) return std::nullopt;
  const auto number = rewriter.number(op.inputs[first_is_value ? 1 : 0]);
  const ValueId value = op.inputs[first_is_value ? 0 : 1];
  if (!number || *number == 0 || !(rewriter.type(value) == rewriter.type(op.outputs[0]))) return std::nullopt;
  return std::pair(is_mul ? *number : 1 / *number, value);
}

// The last axis in memory must be one of the two that are multiplied: products read rows or columns.
bool reads_well(const IntList& permutation) {
  const auto last = std::ssize(permutation) - 1;
  return permutation[permutation.size() - 1] == last || permutation[permutation.size() - 2] == last;
}

Factor factor_of(const Rewriter& rewriter, ValueId value) {
  Factor factor{value, identity(rewriter.type(value).rank())};
  while (rewriter.producer(factor.value).valid()) {
    const Op& op = rewriter.op(rewriter.producer(factor.value));
    if (op.is("Transpose")) {
      const IntList moved =
          ir::permuted(permutation_of(op, rewriter.type(op.inputs[0]).rank()), factor.permutation);
      if (!reads_well(moved)) return factor;
      factor.permutation = moved;
      factor.value = op.inputs[0];
    } else if (const auto found = scaling(rewriter, op)) {
      factor.scale *= found->first;
      factor.value = found->second;
    } else {
      return factor;
    }
  }
  return factor;
}

bool same_batch(const ir::Dims& a, const ir::Dims& b) {
  return a.size() == b.size() && a.size() >= 2 && std::equal(a.begin(), a.end() - 2, b.begin());
}

// What a product becomes: scale * Transpose(product, permutation), up to the op `last`. Of a turned one rows
// and columns have changed places before that.
struct Outcome {
  OpId last;
  IntList permutation;
  double scale = 1;
  bool is_turned = false;
};

// What reads the product alone: a factor or a Transpose that leaves rows or columns whole.
void absorb_readers(const Rewriter& rewriter, Outcome& outcome) {
  const auto columns = std::ssize(outcome.permutation) - 1;
  while (true) {
    const OpId reader = rewriter.only_reader(rewriter.op(outcome.last).outputs[0]);
    if (!reader.valid()) return;
    const Op& op = rewriter.op(reader);
    if (const auto found = scaling(rewriter, op)) {
      outcome.scale *= found->first;
    } else if (op.is("Transpose")) {
      IntList moved = ir::permuted(outcome.permutation, permutation_of(op, outcome.permutation.size()));
      if (moved.back() < columns - 1) return;
      if (moved.back() == columns - 1) {
        outcome.is_turned = !outcome.is_turned;
        std::iter_swap(std::ranges::find(moved, columns), std::ranges::find(moved, columns - 1));
      }
      outcome.permutation = std::move(moved);
    } else {
      return;
    }
    outcome.last = reader;
  }
}

void turn(Factor& factor) { std::iter_swap(factor.permutation.end() - 1, factor.permutation.end() - 2); }

// A product with one transposed matrix for all rows of a batch.
void fuse_product_of_rows(Rewriter& rewriter, OpId id) {
  const Op product = rewriter.op(id);
  const int rank = rewriter.type(product.inputs[0]).rank();
  if (rank <= 2 || rewriter.type(product.inputs[1]).rank() != 2) return;
  const Factor b = factor_of(rewriter, product.inputs[1]);
  if (b.permutation == identity(2)) return;
  Op fused = make_op("StridedMatMul", "podium", {product.inputs[0], b.value}, product.outputs,
                     {{"perm_a", identity(rank)},
                      {"perm_b", b.permutation},
                      {"perm_y", identity(rank)},
                      {"scale", static_cast<float>(b.scale)}});
  fused.name = product.name;
  rewriter.replace(id, std::move(fused));
}

void fuse_product(Rewriter& rewriter, OpId id) {
  const Op product = rewriter.op(id);
  if (rewriter.constant(product.inputs[0]) != nullptr || rewriter.constant(product.inputs[1]) != nullptr)
    return;
  if (!same_batch(rewriter.type(product.inputs[0]).dims, rewriter.type(product.inputs[1]).dims))
    return fuse_product_of_rows(rewriter, id);
  Factor a = factor_of(rewriter, product.inputs[0]);
  Factor b = factor_of(rewriter, product.inputs[1]);
  Outcome outcome{.last = id,
                  .permutation = identity(rewriter.type(product.outputs[0]).rank()),
                  .scale = a.scale * b.scale};
  absorb_readers(rewriter, outcome);
  if (outcome.last == id && a.value == product.inputs[0] && b.value == product.inputs[1]) return;
  if (outcome.is_turned) {
    std::swap(a, b);
    turn(a);
    turn(b);
  }
  Op fused = make_op("StridedMatMul", "podium", {a.value, b.value}, rewriter.op(outcome.last).outputs,
                     {{"perm_a", a.permutation},
                      {"perm_b", b.permutation},
                      {"perm_y", outcome.permutation},
                      {"scale", static_cast<float>(outcome.scale)}});
  fused.name = product.name;
  if (outcome.last != id) rewriter.erase(id);
  rewriter.replace(outcome.last, std::move(fused));
}

// Added to scores, this says the same as Where(constant condition, scores, very low number).
ValueId additive_mask(Rewriter& rewriter, const Tensor& condition, float low) {
  Tensor mask(ir::DataType::Float, condition.dims());
  for (std::int64_t i = 0; i < mask.size(); ++i)
    mask.data<float>()[i] = condition.data<bool>()[i] ? 0.0F : low;
  ir::Graph& graph = rewriter.graph();
  return graph.add_constant(graph.fresh_name("mask"), std::move(mask));
}

struct Masked {
  ValueId scores;
  ValueId mask;
};

std::optional<Masked> masked_scores(Rewriter& rewriter, const Op& op) {
  constexpr double kLow = -1e30;
  if (op.is("Add")) {
    const bool first = rewriter.type(op.inputs[0]) == rewriter.type(op.outputs[0]);
    return Masked{op.inputs[first ? 0 : 1], op.inputs[first ? 1 : 0]};
  }
  if (!op.is("Where")) return std::nullopt;
  const Tensor* condition = rewriter.constant(op.inputs[0]);
  const auto low = rewriter.number(op.inputs[2]);
  if (condition == nullptr || !low || *low > kLow) return std::nullopt;
  return Masked{op.inputs[1], additive_mask(rewriter, *condition, static_cast<float>(*low))};
}

bool is_over_last_axis(const Rewriter& rewriter, const Op& softmax) {
  const auto axis = ir::attribute<std::int64_t>(softmax, "axis");
  return axis == -1 || axis == rewriter.type(softmax.outputs[0]).rank() - 1;
}

void fuse_softmax(Rewriter& rewriter, OpId id) {
  if (!is_over_last_axis(rewriter, rewriter.op(id))) return;
  const Op softmax = rewriter.op(id);
  const ir::Type type = rewriter.type(softmax.outputs[0]);
  const OpId before = rewriter.producer(softmax.inputs[0]);
  if (!before.valid() || !rewriter.only_reader(softmax.inputs[0]).valid()) return;
  const auto masked = masked_scores(rewriter, rewriter.op(before));
  if (!masked || !(rewriter.type(masked->scores) == type)) return;
  const ir::Type& mask = rewriter.type(masked->mask);
  if (mask.rank() < 1 || mask.dims.back() != type.dims.back() || mask.element != ir::DataType::Float) return;
  Op fused = make_op("MaskedSoftmax", "podium", {masked->scores, masked->mask}, softmax.outputs);
  fused.name = softmax.name;
  rewriter.erase(before);
  rewriter.replace(id, std::move(fused));
}

// A product as StridedMatMul has it.
struct Strided {
  ValueId a;
  ValueId b;
  IntList perm_a;
  IntList perm_b;
  IntList perm_y;
  double scale = 1;
};

std::optional<Strided> strided_product(const Rewriter& rewriter, OpId id) {
  const Op& op = rewriter.op(id);
  if (op.is("StridedMatMul", "podium"))
    return Strided{op.inputs[0],
                   op.inputs[1],
                   ir::attribute<IntList>(op, "perm_a"),
                   ir::attribute<IntList>(op, "perm_b"),
                   ir::attribute<IntList>(op, "perm_y"),
                   ir::attribute<float>(op, "scale")};
  if (!op.is("MatMul") || !is_static_float(rewriter.graph(), op)) return std::nullopt;
  const IntList as_it_is = identity(rewriter.type(op.outputs[0]).rank());
  return Strided{op.inputs[0], op.inputs[1], as_it_is, as_it_is, as_it_is};
}

bool is_softmax_of_rows(const Rewriter& rewriter, OpId id) {
  const Op& op = rewriter.op(id);
  return op.is("MaskedSoftmax", "podium") || (op.is("Softmax") && is_over_last_axis(rewriter, op));
}

// `id` multiplies with V.
void fuse_products(Rewriter& rewriter, OpId id) {
  const auto values = strided_product(rewriter, id);
  if (!values || values->scale != 1) return;
  const OpId softmax = rewriter.producer(values->a);
  if (!softmax.valid() || !rewriter.only_reader(values->a).valid() || !is_softmax_of_rows(rewriter, softmax))
    return;
  const ValueId product = rewriter.op(softmax).inputs[0];
  const OpId of_scores = rewriter.producer(product);
  if (!of_scores.valid() || !rewriter.only_reader(product).valid()) return;
  const auto scores = strided_product(rewriter, of_scores);
  if (!scores || !(scores->scale > 0)) return;
  const IntList as_it_is = identity(rewriter.type(product).rank());
  const std::int64_t columns = std::ssize(as_it_is) - 1;
  if (scores->perm_y != as_it_is || values->perm_a != as_it_is || scores->perm_a.size() != as_it_is.size() ||
      scores->perm_a.back() != columns || values->perm_y.back() != columns)
    return;
  const ir::Dims q = ir::permuted(rewriter.type(scores->a).dims, scores->perm_a);
  if (columns < 1 || !ir::attends_in_blocks(rewriter.type(product).dims) ||
      !same_batch(q, ir::permuted(rewriter.type(scores->b).dims, scores->perm_b)) ||
      !same_batch(q, ir::permuted(rewriter.type(values->b).dims, values->perm_b)))
    return;
  std::vector<ValueId> inputs{scores->a, scores->b, values->b};
  if (rewriter.op(softmax).inputs.size() > 1) inputs.push_back(rewriter.op(softmax).inputs[1]);
  Op fused = make_op("StridedAttention", "podium", std::move(inputs), rewriter.op(id).outputs,
                     {{"perm_q", scores->perm_a},
                      {"perm_k", scores->perm_b},
                      {"perm_v", values->perm_b},
                      {"perm_y", values->perm_y},
                      {"scale", static_cast<float>(scores->scale)}});
  fused.name = rewriter.op(id).name;
  rewriter.erase(of_scores);
  rewriter.erase(softmax);
  rewriter.replace(id, std::move(fused));
}

}  // namespace

bool fuse_attention(ir::Graph& graph) {
  Rewriter rewriter(graph);
  for (OpId id : rewriter.op_ids()) {
    if (!rewriter.is_alive(id) || !is_static_float(graph, rewriter.op(id))) continue;
    if (rewriter.op(id).is("MatMul")) {
      fuse_product(rewriter, id);
    } else if (rewriter.op(id).is("Softmax")) {
      fuse_softmax(rewriter, id);
    }
  }
  for (OpId id : rewriter.op_ids()) {
    if (rewriter.is_alive(id)) fuse_products(rewriter, id);
  }
  return rewriter.finish();
}

}  // namespace podium::numeric
