// PopART's session options that a file may have and that change nothing on a simulated device.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "executor/session/json_rows.h"

namespace podium {

/// What the value of such an option must look like all the same.
enum class Shape : std::uint8_t { Truth, Number, Text, List, Object, Any };

struct OptionWithoutEffect {
  std::string_view path;  ///< "logDir", "batchSerializationSettings.method"; "matmulOptions.*" is any of them
  Shape shape;
  std::string_view reason;
};

std::span<const OptionWithoutEffect> options_without_effect();

/// Why the option has none; "" for one that has.
std::string_view reason_without_effect(std::string_view path);

/// For Place::others: the same by their paths.
extern const NamesWithoutEffect kWithoutEffect;

}  // namespace podium
