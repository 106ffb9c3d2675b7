// An options file is a JSON object with PopART's names and nesting. Its values are read by the table of rows;
// then names that contradict each other inside the document are refused, which the Strategy that were read no
// longer show.
#include "executor/session/read_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "executor/session/json_rows.h"
#include "executor/session/option_rows.h"
#include "executor/session/options_without_effect.h"

namespace podium {
namespace {

using nlohmann::json;

// A count beside a switch that is explicitly off contradicts it; a count alone turns it on.
void check_switches(const json& document, const std::string& where) {
  constexpr std::array<std::pair<const char*, const char*>, 2> kSwitches{
      {{"enableReplicatedGraphs", "replicatedGraphCount"},
       {"enableGradientAccumulation", "accumulationFactor"}}};
  for (const auto& [enable, count] : kSwitches) {
    if (document.value(enable, true) || document.value(count, 1) == 1) continue;
    throw Error("{}: {}: {} found, 1 needed because {} is false", where, count, document.value(count, 1),
                enable);
  }
  const json& products = document.value("matmulOptions", json::object());
  const std::string partials = document.value("partialsTypeMatMuls", "");
  if (!partials.empty() && products.contains("partialsType") && products["partialsType"] != partials) {
    throw Error(
        "{}: matmulOptions.partialsType: {} found beside partialsTypeMatMuls \"{}\", one of both needed",
        where, products["partialsType"].dump(), partials);
  }
  if (document.contains("bufferingDepthMap") && document.contains("prefetchBufferingDepthMap")) {
    throw Error("{}: prefetchBufferingDepthMap: found beside bufferingDepthMap, only one of both needed",
                where);
  }
}

// One note a reason, in the order in which reasons come up.
void note_without_effect(const std::vector<std::string>& paths, const std::string& where, Notes& notes) {
  std::vector<std::pair<std::string_view, std::vector<std::string_view>>> by_reason;
  for (const std::string& path : paths) {
    const std::string_view reason = reason_without_effect(path);
    auto found = std::find_if(by_reason.begin(), by_reason.end(),
                              [&](const auto& entry) { return entry.first == reason; });
    if (found == by_reason.end()) found = by_reason.insert(found, {reason, {}});
    found->second.push_back(path);
  }
  for (const auto& [reason, names] : by_reason) {
    notes.push_back(
        fmt::format("{}: no effect on a simulated device: {} ({})", where, fmt::join(names, ", "), reason));
  }
}

// One process simulates every replica, so only settings that ask for no other process can be followed.
void check_distributed(const json& document, const std::string& where, const Strategy& options,
                       Notes& notes) {
  if (!document.value("enableDistributedReplicatedGraphs", false)) {
    for (const char* name : {"globalReplicationFactor", "globalReplicaOffset"}) {
      if (!document.contains(name)) continue;
      notes.push_back(
          fmt::format("{}: {}: no effect without enableDistributedReplicatedGraphs", where, name));
    }
    return;
  }
  const int all = document.value("globalReplicationFactor", 1);
  const int first = document.value("globalReplicaOffset", 0);
  if (first > all || options.replicas > all) {
    throw Error(
        "{}: globalReplicationFactor: {} found, at least globalReplicaOffset {} and replicatedGraphCount {} "
        "needed",
        where, all, first, options.replicas);
  }
  if (all != options.replicas) {
    throw Error(
        "{}: enableDistributedReplicatedGraphs: {} of {} replicas found here, all of them needed: one "
        "process "
        "simulates them with replicatedGraphCount {}",
        where, options.replicas, all, all);
  }
}

// Of two objects, what `now` has and `base` has not so.
json difference(const json& now, const json& base) {
  json found = json::object();
  for (const auto& [name, value] : now.items()) {
    const auto before = base.find(name);
    if (before == base.end()) {
      found[name] = value;
    } else if (*before != value) {
      found[name] = value.is_object() ? difference(value, *before) : value;
    }
  }
  return found;
}

}  // namespace

Strategy read_options(const std::string& text, const std::string& where, Notes& notes, Strategy options) {
  return read_option_document(parse_json(text, where), where, notes, std::move(options));
}

Strategy read_option_document(const json& document, const std::string& where, Notes& notes,
                              Strategy options) {
  std::vector<std::string> ignored;
  read_object<Strategy>(options, {document, where, "", ignored, &kWithoutEffect}, option_rows());
  check_switches(document, where);
  note_without_effect(ignored, where, notes);
  check_distributed(document, where, options, notes);
  return options;
}

json write_options(const Strategy& options, const Strategy& base) {
  return difference(write_object<Strategy>(options, option_rows()),
                    write_object<Strategy>(base, option_rows()));
}

}  // namespace podium
