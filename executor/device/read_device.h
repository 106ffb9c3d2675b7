// Devices as JSON: a preset's name or a user's file becomes a Device, and back.
#pragma once

#include <string>

#include "executor/device/device.h"

namespace podium::device {

/// `name` is a preset's or a file's: a JSON object of fields (see fields.h). With "base", the name of a
/// preset, fields left out are the base's; without it every field is needed. Error: "FILE: field 'F' is X, Y
/// needed".
Device read_device(const std::string& name);

/// A device from the text of such a file. Error as read_device's, without the file's name.
Device parse_device(const std::string& text);

/// The file that parse_device reads back as the same device.
std::string to_json(const Device& device);

}  // namespace podium::device
