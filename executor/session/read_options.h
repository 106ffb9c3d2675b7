// Session options from and to JSON, with PopART's names and nesting:
// {"enablePipelining": true, "executionPhaseSettings": {"phases": 4}}.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "executor/options.h"

namespace podium {

/// Lines for the user that are no errors.
using Notes = std::vector<std::string>;

/// The options of `json` over `options`. Beside PopART's session options it takes what PopART gives
/// elsewhere: "batchesPerStep", "anchors" ({"y": "Final", "z": {"returnType": "EveryN", "returnPeriod": 2}}),
/// "syncPattern", "numIPUs" and "exchangeStrategy" (of inputs and anchors that have none of their own), and
/// under "batchSerializationSettings" the "ioMode" of popxl.addons. An enumeration's word may be in upper or
/// lower case. Options that have no effect on a simulated device are named in one note. Error names `where`
/// (a file), the line of a syntax error or else the option's full name, what was found and what was needed.
Options read_options(const std::string& json, const std::string& where, Notes& notes, Options options = {});
/// The same of a document that has been parsed.
Options read_option_document(const nlohmann::json& document, const std::string& where, Notes& notes,
                             Options options = {});

/// The document that makes `options` of `base`: the options that differ.
nlohmann::json write_options(const Options& options, const Options& base = {});

}  // namespace podium
