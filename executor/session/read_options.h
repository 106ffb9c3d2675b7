// Session options from and to JSON, with PopART's names and nesting:
// {"enablePipelining": true, "executionPhaseSettings": {"phases": 4}}.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "executor/strategy.h"

namespace podium {

/// Lines for the user that are no errors.
using Notes = std::vector<std::string>;

/// The options of `json` over `options`. Beside PopART's session options it takes what PopART gives
/// elsewhere: "batchesPerStep", "anchors" ({"y": "Final", "z": {"returnType": "EveryN", "returnPeriod": 2}}),
/// "syncPattern", "numIPUs" and "exchangeStrategy" (of inputs and anchors that have none of their own), and
/// under "batchSerializationSettings" the "ioMode" of popxl.addons. An enumeration's word may be in upper or
/// lower case. Strategy that have no effect on a simulated device are named in one note. Error names `where`
/// (a file), the line of a syntax error or else the option's full name, what was found and what was needed.
Strategy read_options(const std::string& json, const std::string& where, Notes& notes, Strategy options = {});
/// The same of a document that has been parsed.
Strategy read_option_document(const nlohmann::json& document, const std::string& where, Notes& notes,
                              Strategy options = {});

/// The document that makes `options` of `base`: the options that differ.
nlohmann::json write_options(const Strategy& options, const Strategy& base = {});

}  // namespace podium
