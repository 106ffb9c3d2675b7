// Names of the annotations that passes read and write (semantics, section 1.1).
#pragma once

#include <string_view>

namespace podium::ir {

inline constexpr std::string_view kVirtualGraph = "__ipu_number";
inline constexpr std::string_view kPipelineStage = "__pipeline_stage";
inline constexpr std::string_view kExecutionPhase = "__execution_phase";
inline constexpr std::string_view kTileSet = "__tile_set";
inline constexpr std::string_view kPartialsType = "__partials_type";
/// The share of a tile's memory that the plan of a product may take.
inline constexpr std::string_view kAvailableMemory = "__available_memory";
inline constexpr std::string_view kOutputType = "__output_type";
inline constexpr std::string_view kSerializeMode = "__serialize_matmul_mode";
inline constexpr std::string_view kSerializeFactor = "__serialize_matmul_factor";
inline constexpr std::string_view kSerializePrecision = "__serialize_matmul_precision";
/// Words in pairs, key and value: ops are outlined together only where these are equal.
inline constexpr std::string_view kOutline = "__outline";
inline constexpr std::string_view kRecompute = "__recompute_output_in_backward_pass";

/// Of ops that cut, add up or join what devices move of a cut tensor: the number of that movement.
inline constexpr std::string_view kMovement = "__movement";

/// Of products in floats whose operands are whole numbers of 8 bits: machines that multiply bytes give the
/// same.
inline constexpr std::string_view kMultipliesBytes = "__multiplies_bytes";

/// Of ops whose results come with the program, before the first step: synthetic data.
inline constexpr std::string_view kLoadedWithProgram = "__loaded_with_program";

/// Read as the first three, never written.
inline constexpr std::string_view kPlainVirtualGraph = "virtualGraph";
inline constexpr std::string_view kPlainPipelineStage = "pipelineStage";
inline constexpr std::string_view kPlainExecutionPhase = "executionPhase";

}  // namespace podium::ir
