// A model of which large data are not parsed.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <optional>
#include <span>
#include <unordered_map>

namespace podium::importer {

/// Parses a binary model but for the raw data of initializers of the main graph that have `large` bytes or
/// more: these have none in the model, and `left` says which of `bytes` they are. Empty where there are none,
/// and for what is not made as writers make it, or damaged: then the whole has to be parsed.
std::optional<onnx::ModelProto> parse_around_data(
    std::span<const char> bytes, std::size_t large,
    std::unordered_map<const onnx::TensorProto*, std::span<const char>>& left);

}  // namespace podium::importer
