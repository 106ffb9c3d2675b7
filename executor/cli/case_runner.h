// Runs one ONNX test case: a folder with model.onnx and test_data_set_*/.
#pragma once

#include <string>

namespace podium::cli {

struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};

struct CaseResult {
  bool passed = false;
  std::string reason = {};  ///< of the first failure
};

CaseResult run_case(const std::string& folder, const Tolerance& tolerance);

}  // namespace podium::cli
