// Runs a target on many inputs, each of which may end the process that runs it.
#pragma once

#include <cstdint>
#include <string>

#include "tests/fuzz/target.h"

namespace podium::fuzz {

struct Limits {
  double seconds = 0;      ///< of the target; 0: no end
  std::uint64_t runs = 0;  ///< seeds too; 0: no end
};

struct Places {
  std::string
      corpus;  ///< folder in which inputs that reached new code are kept for the next time; "": nowhere
  std::string failures;  ///< folder for inputs that failed, with what was said
};

struct Outcome {
  std::uint64_t runs = 0;
  std::uint64_t kept = 0;  ///< inputs that reached new code
  std::uint64_t edges = 0;
  int crashes = 0;  ///< signals, reports of a sanitizer
  int hangs = 0;    ///< over kMostSeconds
  int faults = 0;   ///< exceptions that are no answer
  int failures() const { return crashes + hangs + faults; }
};

/// Seconds of the processor that an input may take.
inline constexpr int kMostSeconds = 10;

/// All seeds, then mutants of them until a limit is reached.
Outcome fuzz(const Target& target, std::uint64_t seed, const Limits& limits, const Places& places);

/// One input in this process: its failure is this process's.
void replay(const Target& target, const std::string& input);

}  // namespace podium::fuzz
