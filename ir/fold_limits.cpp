// An op is weighed by the bytes of its results, which static types tell and else what data-dependent ops give
// at most, and by its work. Bytes are counted in doubles: sizes that a file asks for may be beyond 63 bits
// together.
#include "ir/fold_limits.h"

#include <algorithm>
#include <unordered_set>

#include "ir/graph.h"
#include "ir/work.h"
#include "ir/zero_tensor.h"

namespace podium::ir {
namespace {

constexpr double kTimesOneOp = 4;
// Bytes that are dequantised, put into another order and once more: four times their memory each time.
constexpr double kTimesConstants = 12;
// About a second of one core.
constexpr double kMostFlop = 1e10;
// Results of data-dependent size, such as NonZero's, have for each element an index for each of some axes.
constexpr double kMostBytesOfAnElement = 64;

std::size_t longest_text(const Tensor& tensor) {
  std::size_t longest = 0;
  if (tensor.type() != DataType::String) return longest;
  for (const std::string& text : tensor.values<std::string>()) longest = std::max(longest, text.size());
  return longest;
}

// With the texts of strings, which a tensor does not count among its bytes. Zeros that take no memory count
// as others do, or an estimate would fold what a run does not.
double memory_of(const Tensor& tensor) {
  auto bytes = static_cast<double>(tensor.bytes());
  if (tensor.type() != DataType::String) return bytes;
  for (const std::string& text : tensor.values<std::string>()) bytes += static_cast<double>(text.size());
  return bytes;
}

// Adds up constants. Copies of a tensor share its memory, which counts once.
class ConstantMemory {
 public:
  void add(const Graph& graph) {
    for (const Value& value : graph.values) {
      if (value.constant) add(*value.constant);
    }
    for (const Op& op : graph.ops) {
      for (const Attribute& attribute : op.attributes) {
        if (const auto* tensor = value_if<Tensor>(attribute.value)) add(*tensor);
      }
      for_each_body(op, [&](std::string_view, const Graph& body) {
        if (seen_.insert(&body).second) add(body);
      });
    }
  }
  double bytes() const { return bytes_; }

 private:
  void add(const Tensor& tensor) {
    if (takes_no_memory(tensor) || seen_.insert(tensor.memory_id()).second) bytes_ += memory_of(tensor);
  }

  std::unordered_set<const void*> seen_;
  double bytes_ = 0;
};

double memory_of_inputs(const TypedOp& op) {
  double bytes = 0;
  for (const Tensor* constant : op.constants) bytes += constant == nullptr ? 0 : memory_of(*constant);
  return bytes;
}

// The most that a text of the op's results may have. Two texts may be put together, and changed case and what
// splits off are no longer than a few times theirs.
double longest_result(const TypedOp& op) {
  double longest = 0;
  for (const Tensor* constant : op.constants) {
    if (constant != nullptr) longest += static_cast<double>(longest_text(*constant));
  }
  return longest;
}

// Elements of an output whose size only the data decide. A text splits into as many parts as it has
// characters, and one more; others are padded to as many.
double most_elements(const TypedOp& op) {
  double elements = 0;
  for (const Tensor* constant : op.constants) {
    if (constant != nullptr) elements += static_cast<double>(constant->size());
  }
  return op.op.is("StringSplit") ? elements * (longest_result(op) + 1) : elements;
}

double memory_of_outputs(const TypedOp& op) {
  double bytes = 0;
  for (std::size_t i = 0; i < op.output_types.size(); ++i) {
    if (!op.has_output(i)) continue;
    const Type& type = op.output(i);
    if (type.element == DataType::String) {
      // What a short text takes is a part of the element.
      const double text = longest_result(op) > 15 ? longest_result(op) : 0;
      const double elements =
          type.is_static() ? static_cast<double>(type.element_count()) : most_elements(op);
      bytes += elements * (text + static_cast<double>(storage_bytes(DataType::String)));
    } else if (type.is_static()) {
      bytes += static_cast<double>(type.element_count()) * static_cast<double>(storage_bytes(type.element));
    } else {
      bytes += most_elements(op) * kMostBytesOfAnElement;
    }
  }
  return bytes;
}

// Wider numbers than it takes, which nobody makes before they are read (late_tensor.h), and few who read them
// as they were.
bool only_widens(const TypedOp& op) { return op.op.is("DequantizeLinear"); }

// Sizes that are not known count as negative ones.
double flop_of(const TypedOp& op) { return std::max(work_of(op).flop, 0.0); }

}  // namespace

FoldLimits::FoldLimits(const Graph& graph, const InferOptions& options)
    : most_bytes_(options.most_folded_bytes) {
  if (!options.evaluate) return;
  ConstantMemory constants;
  constants.add(graph);
  bytes_left_ = kTimesOneOp * static_cast<double>(most_bytes_) + kTimesConstants * constants.bytes();
  flop_left_ = kMostFlop;
}

bool FoldLimits::allow(const TypedOp& op) const {
  const double given = memory_of_outputs(op);
  const bool is_small =
      given <= static_cast<double>(most_bytes_) || given <= memory_of_inputs(op) || only_widens(op);
  return is_small && given <= bytes_left_ && flop_of(op) <= flop_left_;
}

bool FoldLimits::allow_left_out(const TypedOp& op) const {
  const auto bytes_of = [](const std::vector<Type>& types) {
    std::int64_t bytes = 0;
    for (const Type& type : types) bytes += type.is_tensor() && type.is_static() ? packed_bytes(type) : 0;
    return bytes;
  };
  return bytes_of(op.output_types) <= std::max(most_bytes_, bytes_of(op.input_types)) || only_widens(op);
}

void FoldLimits::count(const TypedOp& op, std::span<const Datum> results) {
  flop_left_ -= flop_of(op);
  if (op.op.spec->view) return;
  for (const Datum& result : results) {
    if (result.is_tensor()) bytes_left_ -= memory_of(result.tensor);
  }
}

}  // namespace podium::ir
