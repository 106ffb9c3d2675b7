// Serialized TensorProto, SequenceProto, OptionalProto and MapProto to what they hold.
#pragma once

#include <string>

#include "ir/datum.h"

namespace podium::importer {

/// Of a serialized proto of the kind that `type` says; e.g. a test's input_0.pb. A tensor in the bits of a
/// type that its writer did not have becomes that type (see as_declared).
ir::Datum datum_from_bytes(const std::string& bytes, const ir::Type& type);

}  // namespace podium::importer
