#include "tests/support/run_text.h"

#include "executor/session/session.h"

namespace podium::testing {

std::string model_text(const std::string& body, int opset) {
  return fmt::format("<ir_version: 8, opset_import: [\"\" : {}, \"ai.onnx.ml\" : 5, \"ai.onnx.preview.training\" : 1]>\n{}", opset, body);
}

std::vector<ir::Datum> run_text(const std::string& body, const std::vector<ir::Datum>& inputs, int opset) {
  importer::ImportOptions options;
  const std::string text = model_text(body, opset);
  const ir::Graph declared = importer::import_text(text).graph;
  IR_CHECK(declared.inputs.size() == inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_tensor()) options.input_types[declared[declared.inputs[i]].name] = type_of(inputs[i]);
  }
  InferenceSession session(importer::import_text(text, options));
  const auto results = session.run(inputs);
  std::vector<ir::Datum> copies;
  for (const ir::Datum& result : results) {
    copies.push_back(result.is_tensor() ? ir::Datum(result.tensor.clone()) : result);
  }
  return copies;
}

}  // namespace podium::testing
