// Cases of ONNX's own kind: a folder with model.onnx and the inputs of test_data_set_0.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "importer/import.h"
#include "ir/datum.h"

namespace podium::testing {

/// The folders of all cases below the given ones, which a colon separates, in order of their names.
std::vector<std::string> case_folders(std::string_view places);

/// In the order of the model's inputs, as far as there are files.
std::vector<ir::Datum> read_case_inputs(const std::string& folder);

/// The model as it is imported when these inputs are fed.
importer::Model import_case(const std::string& folder, const std::vector<ir::Datum>& inputs);

}  // namespace podium::testing
