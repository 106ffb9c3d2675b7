// What the processors of a replica send each other: the table of --explain and `crossings[]` of a report.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace podium::report {

/// A tensor that one processor sends another, all times of a step together.
struct Crossing {
  int from = 0;
  int to = 0;
  std::string name;
  std::int64_t times = 0;
  double bytes = 0;
};

/// The tensors of which most bytes cross, a row each, and one for the rest. Empty where nothing crosses.
std::string crossing_table(std::vector<Crossing> crossings, std::size_t width);

nlohmann::json to_json(const std::vector<Crossing>& crossings);

}  // namespace podium::report
