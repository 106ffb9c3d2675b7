// Names of the annotations that passes read and write (semantics, section 1.1).
#pragma once

#include <string_view>

namespace podium::ir {

inline constexpr std::string_view kVirtualGraph = "__ipu_number";
inline constexpr std::string_view kPipelineStage = "__pipeline_stage";
inline constexpr std::string_view kExecutionPhase = "__execution_phase";
inline constexpr std::string_view kTileSet = "__tile_set";
inline constexpr std::string_view kPartialsType = "__partials_type";
inline constexpr std::string_view kRecompute = "__recompute_output_in_backward_pass";

/// Of ops whose results come with the program, before the first step: synthetic data.
inline constexpr std::string_view kLoadedWithProgram = "__loaded_with_program";

/// Read as the first three, never written.
inline constexpr std::string_view kPlainVirtualGraph = "virtualGraph";
inline constexpr std::string_view kPlainPipelineStage = "pipelineStage";
inline constexpr std::string_view kPlainExecutionPhase = "executionPhase";

}  // namespace podium::ir
