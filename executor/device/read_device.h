// Devices as JSON: a preset's name or a user's file becomes a Device, and back.
#pragma once

#include <string>

#include "executor/device/device.h"

namespace podium::device {

/// Reads the device that `name` names: a preset, "PRESET:nodes=N" or "PRESET:processors=N" for another size
/// of it, or a file with a JSON object of fields (see fields.h). With "base", the name of a preset, omitted
/// fields have the base's values; without it every field is needed. Error: "FILE: field 'F' is X, Y needed".
Device read_device(const std::string& name);

/// Reads a device from the text of such a file. Error as read_device's, without the file's name.
Device parse_device(const std::string& text);

/// Writes a device as the text of a file, which parse_device reads back as the same device.
std::string to_json(const Device& device);

}  // namespace podium::device
