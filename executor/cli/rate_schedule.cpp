#include "executor/cli/rate_schedule.h"

#include <iterator>
#include <nlohmann/json.hpp>

#include "executor/session/json_rows.h"
#include "ir/error.h"

namespace podium::cli {

RateSchedule::RateSchedule(const std::string& text, const std::string& where) {
  const nlohmann::json list = parse_json(text, where);
  if (!list.is_array() || list.empty()) {
    throw Error("{}: a JSON list of {{\"step\": N, \"learning-rate\": X}} needed", where);
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const nlohmann::json& entry = list[i];
    const bool fits = entry.is_object() && entry.size() == 2 && entry.contains("step") &&
                      entry["step"].is_number_unsigned() && entry["step"] <= INT64_MAX &&
                      entry.contains("learning-rate") && entry["learning-rate"].is_number() &&
                      entry["learning-rate"] >= 0;
    if (!fits) {
      throw Error("{}: entry {}: {} found, {{\"step\": N, \"learning-rate\": X}} needed, both at least 0",
                  where, i, entry.dump());
    }
    const auto step = entry["step"].get<std::int64_t>();
    if (!rates_.emplace(step, entry["learning-rate"].get<double>()).second) {
      throw Error("{}: entry {}: step {} is there twice", where, i, step);
    }
  }
}

std::optional<double> RateSchedule::at(std::int64_t step) const {
  const auto after = rates_.upper_bound(step);
  if (after == rates_.begin()) return std::nullopt;
  return std::prev(after)->second;
}

}  // namespace podium::cli
