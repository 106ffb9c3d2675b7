// The messages of ONNX's multi-device annotations (IR version 11).
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "tests/support/wire.h"

namespace podium::testing {

constexpr int kModelConfiguration = 26;
constexpr int kNodeDeviceConfigurations = 10;

inline std::string device_configuration(const std::string& name, std::int64_t devices,
                                        const std::vector<std::string>& names = {}) {
  std::string bytes = bytes_field(1, name) + number_field(2, devices);
  for (const std::string& device : names) bytes += bytes_field(3, device);
  return bytes;
}

inline std::string node_configuration(const std::string& configuration,
                                      const std::vector<std::string>& specs) {
  std::string bytes = bytes_field(1, configuration);
  for (const std::string& spec : specs) bytes += bytes_field(2, spec);
  return bytes;
}

inline std::string stage(std::int64_t stage) { return number_field(3, stage); }

/// A sharded_dim of one simple_sharding without a size.
inline std::string sharded(std::int64_t axis, std::int64_t shards) {
  return number_field(1, axis) + bytes_field(2, number_field(3, shards));
}

inline std::string group(std::int64_t key, std::initializer_list<std::int64_t> members) {
  std::string bytes = number_field(1, key);
  for (std::int64_t member : members) bytes += number_field(2, member);
  return bytes;
}

inline std::string spec(const std::string& tensor, std::initializer_list<std::int64_t> devices,
                        const std::vector<std::string>& axes, const std::vector<std::string>& groups = {}) {
  std::string bytes = bytes_field(1, tensor);
  for (std::int64_t device : devices) bytes += number_field(2, device);
  for (const std::string& entry : groups) bytes += bytes_field(3, entry);
  for (const std::string& axis : axes) bytes += bytes_field(4, axis);
  return bytes;
}

/// A ValueInfoProto of float[rows,columns].
inline std::string matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
  const std::string shape = bytes_field(1, number_field(1, rows)) + bytes_field(1, number_field(1, columns));
  return bytes_field(1, name) + bytes_field(2, bytes_field(1, number_field(1, 1) + bytes_field(2, shape)));
}

/// The bytes of a model: y = Neg(x) of float[4,5]; a configuration 'tp' of two devices cuts x along `axis`.
inline std::string cut_model(std::int64_t axis, std::int64_t devices = 2) {
  const std::string cut = node_configuration("tp", {spec("x", {0, 1}, {sharded(axis, 2)})}) + stage(0);
  const std::string node = bytes_field(1, "x") + bytes_field(2, "y") + bytes_field(3, "neg") +
                           bytes_field(4, "Neg") + bytes_field(kNodeDeviceConfigurations, cut);
  const std::string graph = bytes_field(1, node) + bytes_field(2, "g") + bytes_field(11, matrix("x", 4, 5)) +
                            bytes_field(12, matrix("y", 4, 5));
  return number_field(1, 11) + bytes_field(7, graph) + bytes_field(8, number_field(2, 17)) +
         bytes_field(kModelConfiguration, device_configuration("tp", devices));
}

}  // namespace podium::testing
