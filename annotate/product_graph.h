// The products of a graph and the ways between them: what recognition of blocks by structure walks along.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace podium::annotate {

/// An op that multiplies an activation, input 0, with a weight: MatMul, Gemm, or Conv of one group, or one of
/// their forms for quantised numbers.
struct Product {
  ir::OpId op;
  std::size_t weight = 1;  ///< its place among the inputs
  std::size_t bias = 2;    ///< where the op may have one
  bool is_convolution = false;
  std::int64_t columns_axis = 0;  ///< of the weight
  std::int64_t rows_axis = 0;
  std::int64_t feature_axis = -1;  ///< of input 0 and output 0
  std::int64_t columns = 0;
  std::int64_t experts = 0;  ///< of a weight [experts, in, out]; 0: it is a matrix, or of a Conv
};

/// A product that a tensor is made of. Its columns are `parts` tensors of equal width behind each other, or
/// of unlike widths: then `part` is the one on the way to the tensor.
struct Origin {
  ir::OpId product;
  std::int64_t parts = 1;
  ir::ValueId part = ir::kNoValue;
};

/// What may lie between two products: anything but another product inside of attention, ops by element and
/// Splits in an MLP, ops that keep channels apart between convolutions.
enum class Between : std::uint8_t { Heads, Mlp, Channels };

/// What a product multiplies an activation with.
enum class Operand : std::uint8_t { Weight, Activation };

bool is_any(const ir::Op& op, std::initializer_list<std::string_view> names);

/// Of a graph whose types are inferred, and which outlives it.
class ProductGraph {
 public:
  explicit ProductGraph(const ir::Graph& graph);

  /// In the order of the ops.
  const std::vector<Product>& products() const { return products_; }
  /// nullptr: the op is none.
  const Product* find(ir::OpId op) const;
  /// Known before the run, or made of nothing else.
  bool is_weight(ir::ValueId value) const { return is_weight_[value]; }
  ir::OpId producer(ir::ValueId value) const { return producer_[value]; }
  std::span<const ir::OpId> consumers(ir::ValueId value) const { return consumers_[value]; }
  /// The size along an axis that may count from the end; kUnknown where it is not known.
  std::int64_t dim(ir::ValueId value, std::int64_t axis) const;
  bool is_by_element(const ir::Op& op) const;

  /// Back to the first products on every way; nullopt where a way ends in what may not lie between. Weights,
  /// indices, shapes and, in attention, inputs of the model (past keys, masks, positions) end no way.
  std::optional<std::vector<Origin>> origins(ir::ValueId value, Between between) const;
  /// The one product of two activations from which a value is made by ops by element.
  std::optional<ir::OpId> product_before(ir::ValueId value) const;
  /// The one product with such an operand that a value reaches by movements and ops by element.
  std::optional<ir::OpId> product_after(ir::ValueId value, Operand operand) const;
  ir::ValueId without_reshapes(ir::ValueId value) const;

 private:
  void find_weights();
  std::optional<Product> product_of(ir::OpId id) const;
  bool is_batched_product(const ir::Op& op) const;
  bool may_lie(Between between, const ir::Op& op) const;

  const ir::Graph& graph_;
  ir::IdMap<ir::ValueId, ir::OpId> producer_;
  ir::Consumers consumers_;
  ir::IdMap<ir::ValueId, bool> is_weight_;
  std::vector<Product> products_;
  ir::IdMap<ir::OpId, std::int32_t> place_of_;  ///< in products_; -1: none
};

}  // namespace podium::annotate
