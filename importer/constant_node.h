// Reads the value of a Constant node.
#pragma once

#include "ir/attribute.h"

namespace podium::importer {

/// The tensor of the attribute that gives a Constant node its value, whichever of the forms it has. Error
/// when it is none of them.
ir::Tensor constant_from(const ir::Attribute& attribute);

}  // namespace podium::importer
