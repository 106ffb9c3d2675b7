// Learning rates that change with the steps, from a file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace podium::cli {

class RateSchedule {
 public:
  RateSchedule() = default;
  /// JSON: [{"step": 0, "learning-rate": 0.1}, {"step": 100, "learning-rate": 0.01}]. `where` is the file's
  /// name, for errors: of text that is no such list, a step that comes twice or a rate below 0.
  RateSchedule(const std::string& text, const std::string& where);

  bool empty() const { return rates_.empty(); }
  /// The rate of the last entry up to that step; nothing before the first.
  std::optional<double> at(std::int64_t step) const;

 private:
  std::map<std::int64_t, double> rates_;
};

}  // namespace podium::cli
