// What `podium annotate` writes of a device configuration: how tensors are cut over devices.
#pragma once

#include <string>
#include <vector>

#include "executor/cli/annotate_options.h"
#include "importer/import.h"
#include "importer/sharding.h"

namespace podium::cli {

/// The configuration that the options ask for with what nodes say for it; none where they ask for none. A
/// tensor that a node makes is cut where it is made, any other one at each of its readers. `notes` gets what
/// was found, and warnings.
/// Error for a pattern that matches no tensor, a cut that does not fit a tensor's shape, and rules that need
/// different numbers of devices.
importer::Sharding sharding_of(const importer::Model& model, const AnnotateOptions& options,
                               const std::string& configuration, std::vector<std::string>& notes);

/// What the model says with `added` in it: configurations of the same names are replaced.
importer::Sharding merged(importer::Sharding model, const importer::Sharding& added);

/// For each configuration a line, and the shards of all tensors that it cuts.
std::string layout_tables(const importer::Model& model, const importer::Sharding& sharding);

}  // namespace podium::cli
