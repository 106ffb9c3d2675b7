// The model of a graph given as ONNX text, as it is imported.
#pragma once

#include <string>

#include "importer/import.h"
#include "tests/support/run_text.h"

namespace podium::testing {

/// `body` as for run_text.
inline importer::Model model_of(const std::string& body) { return importer::import_text(model_text(body)); }

}  // namespace podium::testing
