#include "importer/read_tensor.h"

#include <algorithm>
#include <unordered_set>

#include "importer/datum_proto.h"
#include "importer/source.h"
#include "importer/type_proto.h"
#include "ir/ops/recurrent.h"
#include "ir/printable.h"

namespace podium::importer {

namespace {

// Where a recurrent node reads an input of the model itself, its layout tells the axis of the samples.
void note_sample_axes(const onnx::NodeProto& node, Signature& signature) {
  const bool is_onnx = node.domain().empty() || node.domain() == "ai.onnx";
  const ir::OpSpec* spec = is_onnx ? ir::find_op("", node.op_type()) : nullptr;
  if (spec == nullptr || spec->category != ir::Category::Recurrent) return;
  ir::Op op{.spec = spec};
  for (const auto& given : node.attribute()) {
    if (given.name() == "layout") ir::set_attribute(op, "layout", given.i());
  }
  for (int i = 0; i < node.input_size(); ++i) {
    if (!ir::has_recurrent_batch(i)) continue;
    const auto is_it = [&](const auto& input) { return input.first == node.input(i); };
    if (std::none_of(signature.inputs.begin(), signature.inputs.end(), is_it)) continue;
    if (const int axis = ir::recurrent_batch_axis(op, i); axis > 0) {
      signature.sample_axes.emplace(node.input(i), axis);
    }
  }
}

}  // namespace

Signature read_signature(const std::string& path) try {
  const auto source = load_source(path, LargeData::InFile);
  const onnx::GraphProto& graph = source->proto.graph();
  std::unordered_set<std::string> defaults;
  for (const auto& tensor : graph.initializer()) defaults.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) defaults.insert(tensor.values().name());
  Signature signature;
  for (const bool has_default : {false, true}) {
    for (const auto& input : graph.input()) {
      if (defaults.contains(input.name()) != has_default) continue;
      signature.inputs.emplace_back(input.name(), type_from_proto(input.type()));
    }
  }
  for (const auto& output : graph.output()) {
    signature.outputs.emplace_back(output.name(), type_from_proto(output.type()));
  }
  for (const auto& opset : source->proto.opset_import()) {
    signature.opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] = opset.version();
  }
  for (const auto& node : graph.node()) note_sample_axes(node, signature);
  return signature;
} catch (const Error& error) {
  throw Error(ir::one_line(error.what())).at(ir::one_line(path));
}

ir::Datum read_datum(const std::string& bytes, const ir::Type& type) { return datum_from_bytes(bytes, type); }

}  // namespace podium::importer
