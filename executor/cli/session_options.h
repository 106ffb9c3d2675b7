// The command line's options as a session takes them.
#pragma once

#include "executor/cli/options.h"
#include "executor/session/session.h"

namespace podium::cli {

/// Reads the device, prints the notes of the options to stderr. Error for a device that is none and for
/// options that no model can run with.
SessionOptions session_options(const Options& options);

/// "pipelined over 4, 2 replicas, weights off chip"; `processors` are those of a replica. What matters to
/// training alone is left out where the model is only run.
std::string describe(const podium::Options& strategy, int processors, bool trains = false);

/// "note: TEXT" lines on stderr, nothing with --quiet.
void print_notes(const std::vector<std::string>& notes, const Options& options);

}  // namespace podium::cli
