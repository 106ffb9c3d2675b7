// The text of --optimizer.
#pragma once

#include <string>

#include "ir/optimizer.h"

namespace podium::cli {

/// "adamw,lr=1e-3,weight-decay=0.01": a name, then values and words in any order. UsageError names what is
/// unknown and the nearest that is not.
ir::Optimizer read_optimizer(const std::string& text);

/// What --help says of it.
std::string optimizer_help();

}  // namespace podium::cli
