// The names of annotations (semantics, sections 1.1 and 1.2).
#pragma once

#include <string_view>

namespace podium::annotate {

inline constexpr std::string_view kVirtualGraph = "__ipu_number";
inline constexpr std::string_view kPipelineStage = "__pipeline_stage";
inline constexpr std::string_view kExecutionPhase = "__execution_phase";
inline constexpr std::string_view kTileSet = "__tile_set";
inline constexpr std::string_view kRecompute = "__recompute_output_in_backward_pass";
inline constexpr std::string_view kOutputLocation = "__output_tensor_location";
inline constexpr std::string_view kPriority = "__schedule_priority";

}  // namespace podium::annotate
