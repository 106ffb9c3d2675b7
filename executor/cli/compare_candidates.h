// The candidates that a command line asks for.
#pragma once

#include "executor/cli/options.h"
#include "executor/compare/candidates.h"
#include "executor/device/device.h"

namespace podium::cli {

/// What the command line says of candidates for a model. `micro_batches` of a step, 0: enough to fill a
/// pipeline.
compare::Request request_of(const Options& options, const device::Device& device,
                            const importer::Model& model, int micro_batches);

/// Those of --strategies, else the sensible ones, each with as many replicas as were asked for, which the
/// request gets; their notes are printed. Error for more processors than the device has.
std::vector<compare::Candidate> candidates_of(const Options& options, const device::Device& device,
                                              compare::Request& request);

}  // namespace podium::cli
