// Where the numbers of a device come from.
#pragma once

#include <cstdint>
#include <string_view>

#include "executor/device/device.h"
#include "executor/device/fields.h"

namespace podium::device {

enum class Source : std::uint8_t {
  Sheet,      ///< vendor's data sheets and product pages
  Tool,       ///< printed by a tool of the vendor
  Libraries,  ///< constants of the vendor's open libraries
  Study,      ///< measured by third parties
  Framework,  ///< what frameworks do by default
  Fit,        ///< fitted on published figures (docs/cost-model.md)
  Guess,      ///< nothing is published
  Unused,     ///< has no effect on a device of this kind
  Measured,   ///< `podium calibrate` on this machine
  Given       ///< by a device file or the name of the device
};

/// "vendor's sheet"
std::string_view name_of(Source source);

/// The source of one number. A number of a preset that a file changes, and each of a file without a base that
/// the device's name tells, is Given.
Source source_of(const Device& device, const Field& field);

}  // namespace podium::device
