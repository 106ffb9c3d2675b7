// The command line's options as a session takes them.
#pragma once

#include "executor/cli/options.h"
#include "executor/session/session.h"

namespace podium::cli {

/// Reads the device, prints the notes of the options to stderr. Error for a device that is none.
SessionOptions session_options(const Options& options);

/// What a document of options leaves to the session.
OpenOptions open_options(const nlohmann::json& given);

/// "pipelined over 4, 2 replicas, weights off chip" of a strategy as it takes effect; `processors` are those
/// of a replica.
std::string describe(const Strategy& strategy, int processors);

/// "note: TEXT" lines on stderr, nothing with --quiet.
void print_notes(const std::vector<std::string>& notes, const Options& options);

}  // namespace podium::cli
