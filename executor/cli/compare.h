// Compares results with expected ones, as ONNX's own runner does.
#pragma once

#include <string>

#include "executor/cli/case_runner.h"
#include "ir/datum.h"

namespace podium::cli {

/// Empty when they agree: types and shapes exactly, values by tolerance (|a - b| <= absolute +
/// relative * |expected|), NaN equal NaN, strings exactly. Else says the first difference.
std::string difference(const ir::Datum& found, const ir::Datum& expected, const Tolerance& tolerance);

}  // namespace podium::cli
