// The machines that are built in. A further one is a row in presets.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "executor/device/device.h"

namespace podium::device {

inline constexpr std::string_view kDefaultPreset = "ipu-m2000";

/// nullptr when there is none of this name.
const Device* find_preset(std::string_view name);

/// Smallest first, family by family.
const std::vector<std::string_view>& preset_names();

}  // namespace podium::device
