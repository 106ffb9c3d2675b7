// Finds the lists of a model by reflection, whatever message they are in, and fills one. What to fill it with
// is one of four patterns: a single number, two for the halves (the begin and the end of padding), a number
// for each element, or one extreme among small ones.
#include "tests/fuzz/mutate_lists.h"

#include <google/protobuf/message.h>

#include <cstring>
#include <functional>

namespace podium::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::size_t kMostFilled = 4096;

std::int64_t extreme_whole(Dice& dice) {
  using Int = std::numeric_limits<std::int32_t>;
  using Long = std::numeric_limits<std::int64_t>;
  static constexpr std::array<std::int64_t, 14> kExtremes{
      0,          -1,         1,           65536,       Int::max(), 1LL << 31U, Int::min(),
      1LL << 32U, 1LL << 62U, Long::max(), Long::min(), -2,         1LL << 40U, Long::max() - 1};
  return dice.one_in(4) ? dice.whole_number() : dice.pick(kExtremes);
}

/// The numbers that a list is filled with, one for each place.
template <class Number>
class Filling {
 public:
  using Extreme = std::function<Number(Dice&)>;

  Filling(std::size_t size, Extreme extreme, Dice& dice)
      : size_(size),
        pattern_(dice.below(4)),
        first_(extreme(dice)),
        second_(extreme(dice)),
        single_(dice.below(size)),
        extreme_(std::move(extreme)),
        dice_(dice) {}

  Number at(std::size_t place) {
    switch (pattern_) {
      case 0:
        return first_;
      case 1:
        return place < size_ / 2 ? first_ : second_;
      case 2:
        return extreme_(dice_);
      default:
        return place == single_ ? first_ : static_cast<Number>(dice_.below(3));
    }
  }

 private:
  std::size_t size_;
  std::size_t pattern_;
  Number first_;
  Number second_;
  std::size_t single_;
  Extreme extreme_;
  Dice& dice_;
};

template <class Number, class Add>
void fill_with(std::size_t size, std::function<Number(Dice&)> extreme, Dice& dice, const Add& add) {
  Filling<Number> filling(size, std::move(extreme), dice);
  for (std::size_t i = 0; i < size; ++i) add(filling.at(i));
}

double extreme_real(Dice& dice) { return dice.real_number(); }

bool has_numbers(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return field.is_repeated();
    default:
      return false;
  }
}

void fill_field(Message& message, const FieldDescriptor* field, Dice& dice) {
  const auto* reflection = message.GetReflection();
  const auto now = static_cast<std::size_t>(reflection->FieldSize(message, field));
  const std::size_t size = dice.one_in(4) ? dice.below(9) : std::min(now, kMostFilled);
  reflection->ClearField(&message, field);
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_FLOAT:
      return fill_with<double>(size, extreme_real, dice, [&](double number) {
        reflection->AddFloat(&message, field, static_cast<float>(number));
      });
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return fill_with<double>(size, extreme_real, dice,
                               [&](double number) { reflection->AddDouble(&message, field, number); });
    case FieldDescriptor::CPPTYPE_INT32:
      return fill_with<std::int64_t>(size, extreme_whole, dice, [&](std::int64_t number) {
        reflection->AddInt32(&message, field, static_cast<std::int32_t>(number));
      });
    case FieldDescriptor::CPPTYPE_UINT64:
      return fill_with<std::int64_t>(size, extreme_whole, dice, [&](std::int64_t number) {
        reflection->AddUInt64(&message, field, static_cast<std::uint64_t>(number));
      });
    default:
      return fill_with<std::int64_t>(size, extreme_whole, dice, [&](std::int64_t number) {
        reflection->AddInt64(&message, field, number);
      });
  }
}

// Bytes of an element, of a part of one where it is complex; 0 where elements are no such bytes.
std::size_t width_of(int type) {
  switch (type) {
    case onnx::TensorProto::DOUBLE:
    case onnx::TensorProto::INT64:
    case onnx::TensorProto::UINT64:
    case onnx::TensorProto::COMPLEX128:
      return 8;
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::COMPLEX64:
      return 4;
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16:
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::UINT16:
      return 2;
    case onnx::TensorProto::UNDEFINED:
    case onnx::TensorProto::STRING:
      return 0;
    default:
      return 1;
  }
}

template <class Number>
void append_bytes(std::string& bytes, Number number, std::size_t width) {
  std::array<char, sizeof(Number)> little{};
  std::memcpy(little.data(), &number, sizeof(number));
  bytes.append(little.data(), width);
}

std::string filled_bytes(int type, std::size_t size, Dice& dice) {
  const std::size_t width = width_of(type);
  const std::size_t count = width == 0 ? 0 : size / width;
  std::string bytes;
  if (type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::COMPLEX64) {
    fill_with<double>(count, extreme_real, dice,
                      [&](double number) { append_bytes(bytes, static_cast<float>(number), width); });
  } else if (type == onnx::TensorProto::DOUBLE || type == onnx::TensorProto::COMPLEX128) {
    fill_with<double>(count, extreme_real, dice, [&](double number) { append_bytes(bytes, number, width); });
  } else {
    fill_with<std::int64_t>(count, extreme_whole, dice,
                            [&](std::int64_t number) { append_bytes(bytes, number, width); });
  }
  return bytes;
}

// Bytes of a tensor of the type that an input is declared with; 0 where it has no such shape.
std::size_t bytes_of_input(const onnx::ValueInfoProto& input) {
  const onnx::TypeProto::Tensor& type = input.type().tensor_type();
  if (!input.type().has_tensor_type() || !type.has_shape()) return 0;
  const bool is_complex =
      type.elem_type() == onnx::TensorProto::COMPLEX64 || type.elem_type() == onnx::TensorProto::COMPLEX128;
  std::size_t bytes = width_of(type.elem_type()) * (is_complex ? 2 : 1);
  for (const auto& dim : type.shape().dim()) {
    if (dim.dim_value() <= 0 || dim.dim_value() > static_cast<std::int64_t>(kMostFilled)) return 0;
    bytes *= static_cast<std::size_t>(dim.dim_value());
    if (bytes > kMostFilled * sizeof(std::int64_t)) return 0;
  }
  return bytes;
}

/// A place that can be filled.
using Fill = std::function<void(Dice&)>;

void add_fills(Message& message, std::vector<Fill>& fills) {
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (has_numbers(*field))
      fills.emplace_back([&message, field](Dice& dice) { fill_field(message, field, dice); });
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      add_fills(*reflection->MutableMessage(&message, field), fills);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i)
      add_fills(*reflection->MutableRepeatedMessage(&message, field, i), fills);
  }
  auto* tensor = dynamic_cast<onnx::TensorProto*>(&message);
  if (tensor == nullptr || tensor->raw_data().empty()) return;
  fills.emplace_back([tensor](Dice& dice) {
    tensor->set_raw_data(filled_bytes(tensor->data_type(), tensor->raw_data().size(), dice));
  });
}

void make_constant(onnx::GraphProto& graph, int input, Dice& dice) {
  const onnx::ValueInfoProto& value = graph.input(input);
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(value.name());
  tensor.set_data_type(value.type().tensor_type().elem_type());
  for (const auto& dim : value.type().tensor_type().shape().dim()) tensor.add_dims(dim.dim_value());
  tensor.set_raw_data(filled_bytes(tensor.data_type(), bytes_of_input(value), dice));
  graph.mutable_input()->DeleteSubrange(input, 1);
}

}  // namespace

bool fill_list(onnx::ModelProto& model, Dice& dice) {
  std::vector<Fill> fills;
  add_fills(model, fills);
  onnx::GraphProto& graph = *model.mutable_graph();
  for (int i = 0; i < graph.input_size(); ++i) {
    if (bytes_of_input(graph.input(i)) > 0)
      fills.emplace_back([&graph, i](Dice& chosen) { make_constant(graph, i, chosen); });
  }
  if (fills.empty()) return false;
  dice.pick(fills)(dice);
  return true;
}

}  // namespace podium::fuzz
