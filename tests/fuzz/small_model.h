// Models that a target runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executor/program.h"
#include "executor/session/id_counts.h"
#include "importer/import.h"
#include "ir/datum.h"

namespace podium::fuzz {

/// A model with types. Nothing where it may legally ask for what a fuzzer cannot wait for: large tensors,
/// much work, loops that may run long.
std::optional<importer::Model> small_model(const std::string& bytes,
                                           const importer::ImportOptions& options = {});

/// Adds a loss, the mean of the squares of what the first output differs by from 'wanted', and gives its
/// name.
std::string add_any_loss(importer::Model& model);

/// Random numbers for a run, in the order of a session's inputs; the same for the same seed.
std::vector<ir::Datum> random_inputs(const std::vector<executor::HostTensor>& inputs, const IdCounts& ids,
                                     int replicas, std::uint64_t seed);

}  // namespace podium::fuzz
