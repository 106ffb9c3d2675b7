// The text of --loss.
#pragma once

#include <optional>
#include <string>

#include "ir/passes/add_loss.h"

namespace podium::cli {

struct LossText {
  ir::LossKind kind = ir::LossKind::CrossEntropy;
  ir::LossOptions options = {};
  bool has_axis = false;  ///< the text says which axis of the output has the classes
};

/// "cross-entropy,ignore-index=-100,reduction=sum": a name, then values in any order. UsageError names what
/// is unknown and the nearest that is not, and a value that this loss has not.
LossText read_loss(const std::string& text);

/// What --help says of it.
std::string loss_help();

}  // namespace podium::cli
