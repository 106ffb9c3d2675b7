// Runs one op on tensors, without a model around it.
#pragma once

#include <string_view>
#include <vector>

#include "ir/attribute.h"
#include "ir/datum.h"

namespace podium::testing {

/// All outputs of an op. An undefined tensor is an input left out.
std::vector<ir::Datum> run_op_outputs(std::string_view domain, std::string_view name,
                                      const std::vector<ir::Datum>& inputs,
                                      std::vector<ir::Attribute> attributes, std::size_t outputs);

/// Output 0 of an op of ai.onnx.
inline ir::Tensor run_op(std::string_view name, const std::vector<ir::Tensor>& inputs,
                         std::vector<ir::Attribute> attributes = {}) {
  const std::vector<ir::Datum> data(inputs.begin(), inputs.end());
  return run_op_outputs("", name, data, std::move(attributes), 1)[0].tensor;
}

}  // namespace podium::testing
