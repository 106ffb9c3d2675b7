// The table of ops has a row a kernel; layers, passes and processors are sums of the same rows, so that every
// table adds up to the same time. An op's place on the roofline is the share of the processor's peak rate
// that it reaches beside its work a byte.
#include "executor/report/profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "executor/device/fields.h"
#include "executor/report/names.h"
#include "executor/report/report.h"
#include "executor/report/table.h"

namespace podium::report {
namespace {

using Rows = std::vector<std::vector<std::string>>;

double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

template <class Op>
double sum_seconds(const std::vector<Op>& ops) {
  return std::accumulate(ops.begin(), ops.end(), 0.0,
                         [](double sum, const Op& op) { return sum + op.seconds; });
}

void sort_by(std::vector<ProfiledOp>& ops, ProfileOrder order) {
  std::stable_sort(ops.begin(), ops.end(), [&](const ProfiledOp& a, const ProfiledOp& b) {
    switch (order) {
      case ProfileOrder::Flop:
        return a.flop > b.flop;
      case ProfileOrder::Bytes:
        return a.bytes > b.bytes;
      case ProfileOrder::Name:
        return a.name < b.name;
      case ProfileOrder::Time:
        break;
    }
    return a.seconds > b.seconds;
  });
}

// Sums of ops that have the same key, the op's fields being those of the first.
template <class Key>
std::vector<ProfiledOp> grouped(const std::vector<ProfiledOp>& ops, Key key_of) {
  std::map<std::string, std::size_t> places;
  std::vector<ProfiledOp> groups;
  for (const ProfiledOp& op : ops) {
    const auto [entry, is_new] = places.emplace(key_of(op), groups.size());
    if (is_new) {
      groups.push_back(op);
      groups.back().name = entry->first;
      continue;
    }
    ProfiledOp& group = groups[entry->second];
    group.seconds += op.seconds;
    group.flop += op.flop;
    group.bytes += op.bytes;
    group.ideal_seconds += op.ideal_seconds;
    group.runs += op.runs;
  }
  return groups;
}

std::vector<std::string> figures(const ProfiledOp& op, double total) {
  return {duration(op.seconds),
          percentage(share_of(op.seconds, total)),
          quantity(op.flop),
          bytes(op.bytes),
          op.bytes > 0 ? fmt::format("{:.1f}", op.flop / op.bytes) : "",
          percentage(share_of(op.ideal_seconds, op.seconds))};
}

const std::vector<std::string> kFigures{"time", "share", "FLOP", "bytes", "FLOP/byte", "of peak"};
const std::vector<int> kFigureImportance{9, 9, 6, 4, 3, 5};

// Adds a line for what is not shown.
template <class Op>
void add_rest(Rows& rows, const std::vector<Op>& ops, int shown, std::size_t time_column, double total) {
  if (shown == 0 || std::ssize(ops) <= shown) return;
  const std::vector<Op> rest(ops.begin() + shown, ops.end());
  std::vector<std::string> row(rows.front().size());
  row[0] = fmt::format("and {} more", rest.size());
  row[time_column] = duration(sum_seconds(rest));
  row[time_column + 1] = percentage(share_of(sum_seconds(rest), total));
  rows.push_back(std::move(row));
}

std::string op_table(std::vector<ProfiledOp> ops, const ProfileView& view) {
  sort_by(ops, view.order);
  const double total = sum_seconds(ops);
  const bool has_stages =
      std::any_of(ops.begin(), ops.end(), [](const ProfiledOp& op) { return op.stage.has_value(); });
  Rows rows{{"op", "type", std::string(device::name_of(view.kind))}};
  if (has_stages) rows[0].emplace_back("stage");
  rows[0].insert(rows[0].end(), {"block", "pass", "runs"});
  rows[0].insert(rows[0].end(), kFigures.begin(), kFigures.end());
  const auto most = view.rows == 0 ? std::ssize(ops) : std::min<std::ptrdiff_t>(view.rows, std::ssize(ops));
  for (const ProfiledOp& op : std::vector<ProfiledOp>(ops.begin(), ops.begin() + most)) {
    rows.push_back({op.name, op.type, fmt::format("{}", op.processor)});
    if (has_stages) rows.back().push_back(op.stage ? fmt::format("{}", *op.stage) : "");
    rows.back().insert(rows.back().end(), {op.block, std::string(name_of(op.pass)), count(op.runs)});
    const auto all = figures(op, total);
    rows.back().insert(rows.back().end(), all.begin(), all.end());
  }
  add_rest(rows, ops, view.rows, has_stages ? 7 : 6, total);
  std::vector<int> importance{10, 7, 5};
  if (has_stages) importance.push_back(3);
  importance.insert(importance.end(), {2, 4, 1});
  importance.insert(importance.end(), kFigureImportance.begin(), kFigureImportance.end());
  return table(fold(std::move(rows), std::move(importance), view.width));
}

std::string group_table(const std::string& head, std::vector<ProfiledOp> groups, const ProfileView& view) {
  sort_by(groups, view.order);
  const double total = sum_seconds(groups);
  Rows rows{{head}};
  rows[0].insert(rows[0].end(), kFigures.begin(), kFigures.end());
  const auto most =
      view.rows == 0 ? std::ssize(groups) : std::min<std::ptrdiff_t>(view.rows, std::ssize(groups));
  for (std::ptrdiff_t i = 0; i < most; ++i) {
    rows.push_back({groups[i].name});
    const auto all = figures(groups[i], total);
    rows.back().insert(rows.back().end(), all.begin(), all.end());
  }
  add_rest(rows, groups, view.rows, 1, total);
  std::vector<int> importance{10};
  importance.insert(importance.end(), kFigureImportance.begin(), kFigureImportance.end());
  return table(fold(std::move(rows), std::move(importance), view.width));
}

std::string layer_key(const ProfiledOp& op) { return op.layer.empty() ? "(no layer)" : op.layer; }

// Time of a layer in each pass, where there is more than the forward one.
std::string pass_table(const std::vector<ProfiledOp>& ops, const ProfileView& view) {
  constexpr std::array kPasses{Pass::Forward, Pass::Backward, Pass::Update};
  std::vector<ProfiledOp> layers = grouped(ops, layer_key);
  sort_by(layers, view.order);
  std::map<std::pair<std::string, Pass>, double> seconds;
  for (const ProfiledOp& op : ops) seconds[{layer_key(op), op.pass}] += op.seconds;
  Rows rows{{"layer"}};
  for (const Pass pass : kPasses) rows[0].emplace_back(name_of(pass));
  const auto most =
      view.rows == 0 ? std::ssize(layers) : std::min<std::ptrdiff_t>(view.rows, std::ssize(layers));
  std::array<double, kPasses.size()> rest{};
  for (std::ptrdiff_t i = 0; i < std::ssize(layers); ++i) {
    if (i < most) rows.push_back({layers[i].name});
    for (std::size_t p = 0; p < kPasses.size(); ++p) {
      const double of_pass = seconds[{layers[i].name, kPasses[p]}];
      if (i < most) rows.back().push_back(of_pass > 0 ? duration(of_pass) : "");
      if (i >= most) rest[p] += of_pass;
    }
  }
  if (most < std::ssize(layers)) {
    rows.push_back({fmt::format("and {} more", std::ssize(layers) - most)});
    for (const double of_pass : rest) rows.back().push_back(of_pass > 0 ? duration(of_pass) : "");
  }
  return table(fold(std::move(rows), {10, 9, 8, 7}, view.width));
}

std::string real_table(std::vector<RealOp> ops, const ProfileView& view) {
  std::stable_sort(ops.begin(), ops.end(),
                   [](const RealOp& a, const RealOp& b) { return a.seconds > b.seconds; });
  const double total = sum_seconds(ops);
  Rows rows{{"op on this machine", "type", "runs", "time", "share"}};
  const auto most = view.rows == 0 ? std::ssize(ops) : std::min<std::ptrdiff_t>(view.rows, std::ssize(ops));
  for (std::ptrdiff_t i = 0; i < most; ++i) {
    rows.push_back({ops[i].name, ops[i].type, count(ops[i].runs), duration(ops[i].seconds),
                    percentage(share_of(ops[i].seconds, total))});
  }
  add_rest(rows, ops, view.rows, 3, total);
  return table(fold(std::move(rows), {10, 7, 2, 9, 8}, view.width));
}

}  // namespace

std::string_view name_of(Pass pass) {
  switch (pass) {
    case Pass::Forward:
      return "forward";
    case Pass::Backward:
      return "backward";
    case Pass::Update:
      break;
  }
  return "update";
}

std::string layer_of(const std::string& name) {
  const char separator = name.find('/') != std::string::npos ? '/' : '.';
  const std::size_t first = name.find_first_not_of(separator);
  const std::size_t last = name.rfind(separator);
  if (first == std::string::npos || last == std::string::npos || last <= first) return "";
  return name.substr(first, last - first);
}

namespace {

std::string simulated_tables(const Profile& profile, const ProfileView& view) {
  if (profile.ops.empty()) return "no ops to show\n";
  std::string text = op_table(profile.ops, view);
  text += "\n" + group_table("layer", grouped(profile.ops, layer_key), view);
  const auto is_forward = [](const ProfiledOp& op) { return op.pass == Pass::Forward; };
  if (!std::all_of(profile.ops.begin(), profile.ops.end(), is_forward))
    text += "\n" + pass_table(profile.ops, view);
  const auto place_key = [&](const ProfiledOp& op) {
    return fmt::format("{}, {}", name_of(view.kind, op.processor), name_of(op.pass));
  };
  return text + "\n" + group_table("processor and pass", grouped(profile.ops, place_key), view);
}

}  // namespace

std::string profile_tables(const Profile& profile, const ProfileView& view) {
  std::string text = simulated_tables(profile, view);
  const double computing = sum_seconds(profile.ops);
  text += fmt::format("\n{} of computing in a step of {}, all processors of a replica together ({}, {})\n",
                      duration(computing), duration(profile.step_seconds), profile.strategy, profile.device);
  if (!profile.real.empty()) text += "\n" + real_table(profile.real, view);
  return text;
}

nlohmann::json to_json(const ProfiledOp& op) {
  nlohmann::json json{{"name", op.name},
                      {"type", op.type},
                      {"layer", op.layer},
                      {"block", op.block},
                      {"processor", op.processor},
                      {"pass", name_of(op.pass)},
                      {"runs", op.runs},
                      {"seconds", op.seconds},
                      {"flop", op.flop},
                      {"bytes", op.bytes},
                      {"idealSeconds", op.ideal_seconds}};
  if (op.stage) json["stage"] = *op.stage;
  return json;
}

nlohmann::json to_json(const RealOp& op) {
  return {{"name", op.name}, {"type", op.type}, {"runs", op.runs}, {"seconds", op.seconds}};
}

nlohmann::json profile_json(const Profile& profile) {
  nlohmann::json json{{"version", kReportVersion},       {"model", profile.model},
                      {"strategy", profile.strategy},    {"device", profile.device},
                      {"seconds", profile.step_seconds}, {"ops", nlohmann::json::array()}};
  for (const ProfiledOp& op : profile.ops) json["ops"].push_back(to_json(op));
  for (const RealOp& op : profile.real) json["realOps"].push_back(to_json(op));
  return json;
}

}  // namespace podium::report
