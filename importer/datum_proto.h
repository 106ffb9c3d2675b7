// Serialized TensorProto, SequenceProto, OptionalProto and MapProto to what they hold.
#pragma once

#include <string>

#include "ir/datum.h"

namespace podium::importer {

/// Reads a serialized proto of the kind that `type` asks for, e.g. a test's input_0.pb. A tensor whose writer
/// had no such element type and stored its bits in another becomes a tensor of that type (see as_declared).
ir::Datum datum_from_bytes(const std::string& bytes, const ir::Type& type);

}  // namespace podium::importer
