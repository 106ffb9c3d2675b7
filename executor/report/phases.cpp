#include "executor/report/phases.h"

namespace podium::report {

nlohmann::json to_json(const std::vector<PhaseWork>& phases) {
  nlohmann::json rows = nlohmann::json::array();
  for (const PhaseWork& one : phases) {
    nlohmann::json row{{"phase", one.phase}, {"flop", one.flop}, {"bytes", one.bytes}};
    if (one.bytes > 0) row["flopPerByte"] = one.flop / one.bytes;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace podium::report
