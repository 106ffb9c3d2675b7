// Reads the signature of a model file, and tensors in protobuf files beside a model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/datum.h"

namespace podium::importer {

struct Signature {
  std::vector<std::pair<std::string, ir::Type>>
      inputs;  ///< in graph order, initializers that are inputs last
  std::vector<std::pair<std::string, ir::Type>> outputs;
  std::map<std::string, std::int64_t> opsets;  ///< domain ("" is ai.onnx) to version
  /// Of inputs that a recurrent node reads and whose sequences are not on the first axis: the axis.
  std::map<std::string, int> sample_axes;
};

/// Names and declared types of a model's inputs and outputs, symbolic dimensions unknown.
Signature read_signature(const std::string& path);

/// A serialized TensorProto, SequenceProto or OptionalProto, by the type it must have.
ir::Datum read_datum(const std::string& bytes, const ir::Type& type);

}  // namespace podium::importer
