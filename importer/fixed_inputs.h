// Inputs that are the same in every run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "importer/import.h"

namespace podium::importer {

/// Makes constants of these inputs: of one number for all of its elements, or of one for each. An If whose
/// condition is one of them becomes the branch that it takes. Error names the input, what was found and what
/// was needed: an input of the graph whose sizes are known, and numbers of its type.
void fix_inputs(Model& model, const std::map<std::string, std::vector<double>>& numbers);

}  // namespace podium::importer
