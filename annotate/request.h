// The session's choices that decide which annotations are read.
#pragma once

#include <cstdint>

namespace podium::annotate {

/// The session option virtualGraphMode.
enum class Mode : std::uint8_t { Off, Manual, Auto, ExecutionPhases };

struct Request {
  Mode mode = Mode::Off;
  bool pipelining = false;
  int processors = 0;    ///< of one replica; 0: as many as the annotations need
  int phases = 0;        ///< read in mode ExecutionPhases
  int phase_stages = 2;  ///< processors that take turns: 2 is ping-pong, 1 all phases on one
  /// Gradients are accumulated: ops of the outer context run once all stages have run, whatever their own
  /// stage is.
  bool accumulates = false;
};

}  // namespace podium::annotate
