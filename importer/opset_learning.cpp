// Older versions of ai.onnx.ml.
#include <array>
#include <numeric>

#include "importer/opset_rewrite.h"
#include "ir/infer.h"

namespace podium::importer {
namespace {

using ir::DataType;

// The direction of a LabelEncoder of version 1 depends on the type of its input; for a computed input the
// graph as read so far is inferred.
DataType type_of_labels(Rewrite& node) {
  const DataType declared = node.element_of(node.input(0));
  if (declared != DataType::Undefined) return declared;
  ir::Graph so_far = node.graph();
  ir::infer(so_far);
  return so_far[node.input(0)].type.element;
}

// Strings to their places in a list, or places to strings.
void label_encoder_2(Rewrite& node) {
  auto classes = node.take_or<ir::StringList>("classes_strings", {});
  ir::IntList places(classes.size());
  std::iota(places.begin(), places.end(), std::int64_t{0});
  const DataType type = type_of_labels(node);
  if (type != DataType::String && type != DataType::Int64) {
    throw Error("input is {}, string or int64 needed", name_of(type));
  }
  const bool from_strings = type == DataType::String;
  node.set(from_strings ? "keys_strings" : "values_strings", std::move(classes));
  node.set(from_strings ? "values_int64s" : "keys_int64s", std::move(places));
}

}  // namespace

std::span<const Adapter> learning_adapters() {
  static constexpr std::array kTable{Adapter{"LabelEncoder", 2, label_encoder_2, "ai.onnx.ml"}};
  return kTable;
}

}  // namespace podium::importer
