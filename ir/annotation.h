// Names of the annotations that passes read and write (semantics, section 1.1).
#pragma once

#include "ir/attribute_name.h"

namespace podium::ir {

inline constexpr AttributeName kVirtualGraph = "__ipu_number";
inline constexpr AttributeName kPipelineStage = "__pipeline_stage";
inline constexpr AttributeName kExecutionPhase = "__execution_phase";
inline constexpr AttributeName kTileSet = "__tile_set";
inline constexpr AttributeName kPartialsType = "__partials_type";
/// The share of a tile's memory that the plan of a product may take.
inline constexpr AttributeName kAvailableMemory = "__available_memory";
/// In what products of matrices take their operands: as they are stored, or in blocks of 8 bits
/// (ir/passes/round_operands.h).
inline constexpr AttributeName kOperandsType = "__operands_type";
inline constexpr AttributeName kOutputType = "__output_type";
inline constexpr AttributeName kSerializeMode = "__serialize_matmul_mode";
inline constexpr AttributeName kSerializeFactor = "__serialize_matmul_factor";
inline constexpr AttributeName kSerializePrecision = "__serialize_matmul_precision";
/// Words in pairs, key and value: ops are outlined together only where these are equal.
inline constexpr AttributeName kOutline = "__outline";
inline constexpr AttributeName kRecompute = "__recompute_output_in_backward_pass";

/// Of ops that cut, add up or join what devices move of a cut tensor: the number of that movement.
inline constexpr AttributeName kMovement = "__movement";

/// Of products in floats whose operands are whole numbers of 8 bits: machines that multiply bytes give the
/// same.
inline constexpr AttributeName kMultipliesBytes = "__multiplies_bytes";

/// Of ops whose results come with the program, before the first step: synthetic data.
inline constexpr AttributeName kLoadedWithProgram = "__loaded_with_program";

/// Read as the first three, never written.
inline constexpr AttributeName kPlainVirtualGraph = "virtualGraph";
inline constexpr AttributeName kPlainPipelineStage = "pipelineStage";
inline constexpr AttributeName kPlainExecutionPhase = "executionPhase";

}  // namespace podium::ir
