// `podium compare` of a model in memory.
#pragma once

#include <string>

#include "executor/python/model.h"
#include "executor/python/settings.h"

namespace podium::python {

/// Tries strategies, best first, as JSON (see executor/report/README.md). `strategies` are those of
/// --strategies as JSON; "": sensible ones.
std::string compare_strategies(const Model& model, const Settings& settings, const std::string& strategies);

}  // namespace podium::python
