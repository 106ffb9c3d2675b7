// Runs a program of the build and kills it at a chosen moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace podium::testing {

enum class Ended : std::uint8_t { ByItself, Killed };

/// Runs "podium" with these words, its output thrown away, and kills it just before its `call`-th call that
/// changes files: creates, writes, syncs, renames, removes. From 1; a program with fewer such calls ends by
/// itself.
Ended kill_at_call(const std::vector<std::string>& words, int call);

/// The same after some time.
Ended kill_after(const std::vector<std::string>& words, std::chrono::microseconds time);

/// The exit status when nobody kills it.
int run_to_the_end(const std::vector<std::string>& words);

/// Whether this machine lets a test follow the calls of a program.
bool can_trace();

}  // namespace podium::testing
