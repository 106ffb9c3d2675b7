// One of ONNX's cases, computed in double.
#pragma once

#include <string>
#include <vector>

#include "importer/import.h"
#include "ir/datum.h"

namespace podium::testing {

struct CaseInDouble {
  importer::Model model;
  std::vector<ir::Datum> inputs;
};

/// Reads model.onnx and the inputs of test_data_set_0 of a folder. Floats become doubles where each op that
/// reads them takes doubles. Double inputs move a little, away from the places where a function has a kink:
/// each attempt elsewhere, and less far.
CaseInDouble read_case_in_double(const std::string& folder, int attempt);

}  // namespace podium::testing
