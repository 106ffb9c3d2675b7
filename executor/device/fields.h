// Every number of a device under the name that files give it: what reader, writer and help share.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "executor/device/device.h"

namespace podium::device {

template <class T>
using Access = T& (*)(Device&);

struct Field {
  std::string_view name;
  std::string_view unit;  ///< "" for a count, a flag or a word
  std::string_view what;
  std::variant<Access<int>, Access<std::int64_t>, Access<double>, Access<bool>, Access<Topology>,
               Access<Fusion>, Access<ProcessorKind>>
      access;
  /// The range of a number: the least and the most that make sense.
  double least = 0;
  double most = 0;
};

const std::vector<Field>& fields();

/// "ladder"
std::string_view name_of(Topology topology);
/// "nodes"
std::string_view name_of(Fusion fusion);
/// "gpu"
std::string_view name_of(ProcessorKind kind);

}  // namespace podium::device
