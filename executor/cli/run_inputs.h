// The inputs of a run: files for some, seeded random values for the others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "executor/cli/options.h"
#include "importer/read_tensor.h"
#include "ir/datum.h"

namespace podium::cli {

/// Inputs by name from --input and --inputs. Error for a name the model does not have, or a file that cannot
/// be read or does not fit.
std::map<std::string, ir::Datum> read_inputs(const Options& options, const importer::Signature& signature);

/// Random values of a static tensor type: floats in [-1, 1), integers small and not negative, bools even odds.
/// The same seed and name give the same values.
ir::Datum random_input(const std::string& name, const ir::Type& type, std::uint64_t seed);

}  // namespace podium::cli
