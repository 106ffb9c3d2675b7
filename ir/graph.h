// The graph: ops in an order in which they can run, and the values between them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attribute.h"
#include "ir/id_map.h"
#include "ir/op_spec.h"

namespace podium::ir {

using ValueId = Id<struct ValueTag>;
using OpId = Id<struct OpTag>;
/// An optional input or output that is left out.
inline constexpr ValueId kNoValue{};

struct Value {
  std::string name;
  Type type = {};
  /// Known before the run: an initializer or the result of folding.
  std::optional<Tensor> constant = {};
  /// An initializer of which only the type is known (a model written with weights=none): it can be
  /// estimated but not run.
  bool data_left_out = false;
};

struct Op {
  const OpSpec* spec = nullptr;
  std::string name = {};
  std::vector<ValueId> inputs = {};  ///< formal inputs, then `captures` captured ones
  std::vector<ValueId> outputs = {};
  std::vector<Attribute> attributes = {};
  /// How many of the last inputs of a control-flow op are outer values that its bodies read. Every body of
  /// the op has as many inputs for them, after its formal ones.
  int captures = 0;

  std::size_t formal_inputs() const { return inputs.size() - static_cast<std::size_t>(captures); }
  bool is(std::string_view name_wanted, std::string_view domain = "") const {
    return spec->name == name_wanted && spec->domain == domain;
  }
};

/// Those of an op's inputs or outputs that are there: `for (ValueId id : inputs_of(op))` skips optional ones
/// that are left out.
class PresentValues {
 public:
  class Iterator {
   public:
    using value_type = ValueId;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    Iterator(const ValueId* at, const ValueId* end) : at_(at), end_(end) { skip(); }
    const ValueId& operator*() const { return *at_; }
    Iterator& operator++() {
      ++at_;
      skip();
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    void skip() {
      while (at_ != end_ && !at_->valid()) ++at_;
    }
    const ValueId* at_ = nullptr;
    const ValueId* end_ = nullptr;
  };

  explicit PresentValues(const std::vector<ValueId>& ids) : ids_(ids) {}
  Iterator begin() const { return {ids_.data(), ids_.data() + ids_.size()}; }
  Iterator end() const { return {ids_.data() + ids_.size(), ids_.data() + ids_.size()}; }

 private:
  const std::vector<ValueId>& ids_;
};
inline PresentValues inputs_of(const Op& op) { return PresentValues(op.inputs); }
inline PresentValues outputs_of(const Op& op) { return PresentValues(op.outputs); }
/// Whether one of the values is marked: `any_of(inputs_of(op), live)`.
bool any_of(const PresentValues& values, const IdMap<ValueId, bool>& marked);
/// Whether the op gives the numbers of its first input another shape, order of axes or width, or none of
/// these.
bool changes_form(const Op& op);

/// The attribute's value, or the row's default; nullptr when neither is there.
const AttributeValue* find_attribute(const Op& op, std::string_view name);
/// The attribute as a T. IR_CHECK when it is absent or of another kind (verify has looked before).
template <class T>
const T& attribute(const Op& op, std::string_view name);
template <class T>
const T* attribute_if(const Op& op, std::string_view name);
void set_attribute(Op& op, AttributeName name, AttributeValue value);
void remove_attribute(Op& op, std::string_view name);

/// Plain data with helpers. `ops` is in topological order. Values that nothing uses may be present.
class Graph {
 public:
  std::string name;
  std::vector<Value> values;
  std::vector<Op> ops;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;

  ValueId add_value(std::string value_name, Type type = {});
  ValueId add_constant(std::string value_name, Tensor tensor);
  /// A name that starts with `base`, then a colon and a number that counts the calls. It is new as long as
  /// names in model files end otherwise.
  std::string fresh_name(std::string_view base);
  /// The same of a piece of a tensor that is cut over devices: "x/part:7". Pieces of pieces are named after
  /// the tensor.
  std::string fresh_part_name(std::string_view whole);

  Value& operator[](ValueId id) { return values[checked_index(id.index, values.size())]; }
  const Value& operator[](ValueId id) const { return values[checked_index(id.index, values.size())]; }
  Op& operator[](OpId id) { return ops[checked_index(id.index, ops.size())]; }
  const Op& operator[](OpId id) const { return ops[checked_index(id.index, ops.size())]; }
  /// All values, and all ops in their order.
  IdRange<ValueId> value_ids() const { return IdRange<ValueId>(std::ssize(values)); }
  IdRange<OpId> op_ids() const { return IdRange<OpId>(std::ssize(ops)); }
  bool is_constant(ValueId id) const { return id.valid() && (*this)[id].constant.has_value(); }
  /// "node 'name' (Type)", for errors.
  std::string describe(const Op& op) const;

 private:
  std::int64_t next_name_ = 0;
};

/// For each value, the op that produces it (invalid: an input, a constant, or nothing).
IdMap<ValueId, OpId> producers(const Graph& graph);
/// For each value, how many op inputs and graph outputs read it.
IdMap<ValueId, int> use_counts(const Graph& graph);
/// The ops that read each value, in one piece of memory.
class Consumers {
 public:
  explicit Consumers(const Graph& graph);
  /// In order; an op that reads the value twice is there twice.
  std::span<const OpId> operator[](ValueId id) const {
    const std::size_t value = checked_index(id.index, first_.size() - 1);
    return std::span(readers_).subspan(first_[value], first_[value + 1] - first_[value]);
  }
  /// False for a value that is younger than this.
  bool contains(ValueId id) const {
    return id.valid() && static_cast<std::size_t>(id.index) + 1 < first_.size();
  }

 private:
  std::vector<std::size_t> first_;  ///< of each value, in readers_; behind them the end
  std::vector<OpId> readers_;
};
inline Consumers consumers(const Graph& graph) { return Consumers(graph); }
/// Calls `visit` on each body of a control-flow op with the attribute's name.
void for_each_body(const Op& op, const std::function<void(std::string_view, const Graph&)>& visit);

/// "x" of "x/part:7", the name of a piece (fresh_part_name); other names are whole.
std::string_view name_of_whole(std::string_view name);

/// Stable text, one line an op: `y = Mul(x, sum) {axis=1}  # float[2]`. Inputs and constants first.
std::string print(const Graph& graph);

/// Error when an op does not fit its row (number of inputs, attribute kinds, element types), a value has
/// two producers, or an op reads what comes after it.
void verify(const Graph& graph);

template <class T>
const T* attribute_if(const Op& op, std::string_view name) {
  const AttributeValue* value = find_attribute(op, name);
  return value == nullptr ? nullptr : value_if<T>(*value);
}

template <class T>
const T& attribute(const Op& op, std::string_view name) {
  const T* value = attribute_if<T>(op, name);
  IR_CHECK(value != nullptr, "attribute {} of {} is absent or of another kind", name, op.spec->name);
  return *value;
}

}  // namespace podium::ir
