// Devices as JSON: a preset's name or a user's file becomes a Device, and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "executor/device/device.h"

namespace podium::device {

/// The name of the machine that reads: what `podium calibrate` has measured of it with all threads.
inline constexpr std::string_view kHost = "host";
/// The same where so many threads compute: "host:threads=N".
std::string host_with(int threads);

/// The file of one of these names, in the user's cache folder: XDG_CACHE_HOME or ~/.cache. Error when there
/// is none.
std::string host_file(std::string_view name);

/// Reads the device that `name` names: a preset, the host, "PRESET:nodes=N" or "PRESET:processors=N" for
/// another size of it, or a file with a JSON object of fields (see fields.h). With "base", the name of a
/// preset, omitted fields have the base's values; without it every field is needed. Error: "FILE: field 'F'
/// is X, Y needed".
Device read_device(const std::string& name);

/// Reads a device from the text of such a file. Error as read_device's, without the file's name.
Device parse_device(const std::string& text);

/// Writes a device as the text of a file, which parse_device reads back as the same device.
std::string to_json(const Device& device);

/// The name of the smallest machine of `device`'s kind of processor that has at least so many of them, as
/// read_device reads it: another preset of its family, else "PRESET:nodes=N". "ipu-pod16" for 5 of an
/// ipu-m2000, "h100:nodes=2" for 9 of an h100. Empty where there is none, and for what is no preset's
/// processor.
std::string larger_machine(const Device& device, std::int64_t processors);

}  // namespace podium::device
