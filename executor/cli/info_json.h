// The JSON of `podium info --report`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "executor/report/model_summary.h"
#include "importer/import.h"

namespace podium::cli {

/// `model` has been through optimize, and `summary` is of its graph.
nlohmann::json info_json(const importer::Model& model, const report::ModelSummary& summary);

}  // namespace podium::cli
