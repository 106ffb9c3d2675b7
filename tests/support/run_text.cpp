#include "tests/support/run_text.h"

#include "executor/session/session.h"
#include "tests/support/refusal.h"

namespace podium::testing {

std::string model_text(const std::string& body, int opset) {
  return fmt::format(
      "<ir_version: 8, opset_import: [\"\" : {}, \"ai.onnx.ml\" : 5, \"com.microsoft\" : 1, \"ai.graphcore\" : 1, \"ai.onnx.preview\" : 1, "
      "\"ai.onnx.preview.training\" : 1]>\n{}",
      opset, body);
}

namespace {

std::vector<ir::Datum> run_model(importer::Model model, const std::vector<ir::Datum>& inputs) {
  InferenceSession session(std::move(model));
  std::vector<ir::Datum> copies;
  for (const ir::Datum& result : session.run(inputs)) {
    copies.push_back(result.is_tensor() ? ir::Datum(result.tensor.clone()) : result);
  }
  return copies;
}

}  // namespace

std::vector<ir::Datum> run_text(const std::string& body, const std::vector<ir::Datum>& inputs, int opset) {
  importer::ImportOptions options;
  const std::string text = model_text(body, opset);
  const ir::Graph declared = importer::import_text(text).graph;
  IR_CHECK(declared.inputs.size() == inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_tensor()) options.input_types[declared[declared.inputs[i]].name] = type_of(inputs[i]);
  }
  return run_model(importer::import_text(text, options), inputs);
}

std::vector<ir::Datum> run_graph(ir::Graph graph, const std::vector<ir::Datum>& inputs) {
  return run_model({.graph = std::move(graph), .info = {}, .source = nullptr}, inputs);
}

std::string error_of(const std::string& body, const std::vector<ir::Datum>& inputs) {
  return refusal([&] { run_text(body, inputs); });
}

}  // namespace podium::testing
