// What the processors of a replica send each other: the table of --explain and `crossings[]` of a report.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "executor/device/device.h"

namespace podium::report {

/// A tensor that one processor sends another, all times of a step together. What devices of a cut reduce or
/// gather counts as a ring passes it on, from each to the next.
struct Crossing {
  int from = 0;
  int to = 0;
  std::string name;
  std::int64_t times = 0;
  double bytes = 0;
};

/// The crossings of most bytes, a row each, and one for the rest. Where there are many, a row is a tensor
/// with all processors between which it crosses as often. Empty where nothing crosses.
std::string crossing_table(const std::vector<Crossing>& crossings, device::ProcessorKind kind,
                           std::size_t width);

nlohmann::json to_json(const std::vector<Crossing>& crossings);

/// A tensor cut over devices that a node needs in another form: the table of --explain and `reshardings[]`.
struct Resharding {
  std::string node;  ///< empty: an output of the graph
  std::string tensor;
  std::string kind;        ///< "all-reduce"
  std::int64_t bytes = 0;  ///< that devices receive, all together
};

/// The largest ones, a row each, and one for the rest. Empty where there are none.
std::string resharding_table(std::vector<Resharding> reshardings, std::size_t width);

nlohmann::json to_json(const std::vector<Resharding>& reshardings);

}  // namespace podium::report
