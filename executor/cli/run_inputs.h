// The inputs of a run: files for some, seeded random values for the others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "executor/cli/options.h"
#include "executor/session/host_arrays.h"
#include "executor/session/session.h"
#include "importer/read_tensor.h"
#include "ir/datum.h"

namespace podium::cli {

/// Inputs by name from --input and --inputs. Error for a name the model does not have, or a file that cannot
/// be read or does not fit.
std::map<std::string, ir::Datum> read_inputs(const Options& options, const importer::Signature& signature);

/// The type that the model declares for an input. Error, which begins with the option that names it, where it
/// has no such input.
const ir::Type& type_of_input(const importer::Signature& signature, std::string_view option,
                              const std::string& name);

/// The type of a micro-batch of each input, from the arrays of a whole run:
/// [batches][replicas][micro-batch...], or with the batches and replicas inside the first dimension. An array
/// that cannot be so says nothing.
std::map<std::string, ir::Type> micro_batch_types(const std::map<std::string, ir::Datum>& given,
                                                  const importer::Signature& signature,
                                                  const Strategy& strategy);

/// The model of --dim and --precision, with the dimensions that `types` of inputs bind.
importer::Model import(const Options& options, const std::map<std::string, ir::Type>& types = {});

/// The same, with sizes that work for dimensions that are open after that (with_working_sizes), which a note
/// says.
importer::Model import_sized(const Options& options, const std::map<std::string, ir::Type>& types = {},
                             importer::LargeData large = importer::LargeData::InFile);

/// The data in the precision of --precision.
ir::Datum in_precision(const ir::Datum& datum, const Options& options);

/// Inputs of a run in the order of the session's: those given, the others drawn, which a note says.
std::vector<ir::Datum> gather(const InferenceSession& session, const std::map<std::string, ir::Datum>& given,
                              const Options& options);

}  // namespace podium::cli
