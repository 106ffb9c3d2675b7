// `podium validate`: predicts published figures and says how far off the predictions are. Each row goes the
// way of a user: its model becomes a file with its annotations, its device and options become files, and
// `podium run --estimate` or `podium train --estimate` clocks them. Rows of one group are summed up: the mean
// and the worst error, and the factor, the geometric mean of predicted to published.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "annotate/rules.h"
#include "executor/cli/clocked_run.h"
#include "executor/cli/options.h"
#include "executor/cli/progress.h"
#include "executor/cli/usage_error.h"
#include "executor/cli/validation_rows.h"
#include "executor/cli/write_file.h"
#include "executor/report/table.h"
#include "importer/export_graph.h"
#include "ir/files.h"
#include "models/catalog.h"

namespace podium::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Prediction {
  ValidationRow row;
  double predicted = 0;
  std::string refusal = {};  ///< why there is no prediction
  double error() const { return predicted / row.published - 1; }
};

/// A folder that goes with its files.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "podium-validate-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error("{}: cannot be made", name);
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

// The model of the row, a file of the user's own or a recipe.
std::string model_file(const ValidationRow& row, const ScratchFolder& folder) {
  std::istringstream words(row.model);
  std::string name;
  words >> name;
  if (name.ends_with(".onnx")) {
    if (!row.annotate.is_null()) throw Error("'annotate' found, which models of podium-models alone take");
    return row.model;
  }
  models::Parameters parameters{{"weights", "none"}};
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) throw Error("model: '{}' found, key=value needed", word);
    parameters[word.substr(0, equals)] = word.substr(equals + 1);
  }
  models::BuiltModel model = models::build(name, parameters);
  if (!row.annotate.is_null())
    annotate::apply_rules(model.graph, annotate::read_rules(row.annotate.dump(), "annotate"));
  const std::string path = folder.file("model.onnx");
  importer::export_graph(model.graph, path, {.opset = model.opset, .symbolic = model.symbolic});
  return path;
}

double value_of(const report::RunReport& report, Quantity quantity) {
  const sim::Timeline& timeline = report.timeline;
  const auto busy = [&](sim::Activity activity) {
    const auto place = static_cast<std::size_t>(activity);
    return timeline.processors[0].busy[place] + timeline.processors[0].io_busy[place];
  };
  switch (quantity) {
    case Quantity::Seconds:
      return timeline.makespan;
    case Quantity::SamplesPerSecond:
      return report::samples_per_second(report);
    case Quantity::FlopPerSecond:
      return timeline.flop / timeline.makespan / static_cast<double>(timeline.processors.size());
    case Quantity::ComputeSeconds:
      return busy(sim::Activity::Compute);
    case Quantity::ComputeRate:
      return timeline.processors[0].flop / busy(sim::Activity::Compute);
    case Quantity::CollectiveSeconds:
      return busy(sim::Activity::Collective);
  }
  IR_CHECK(false);
}

double predict(const ValidationRow& row) {
  const ScratchFolder folder;
  Arguments words = row.arguments;
  words.insert(words.end(), {"--estimate", "--quiet", model_file(row, folder)});
  const auto add_file = [&](const char* flag, const char* name, const json& document) {
    write_file(folder.file(name), document.dump());
    words.insert(words.end(), {flag, folder.file(name)});
  };
  if (!row.options.is_null()) add_file("--options", "options.json", row.options);
  if (row.device.is_string()) {
    words.insert(words.end(), {"--device", row.device.get<std::string>()});
  } else if (!row.device.is_null()) {
    add_file("--device", "device.json", row.device);
  }
  const Options options = parse(row.command, words);
  return value_of(row.command == Command::Run ? estimate_run(options) : estimate_train(options),
                  row.quantity);
}

Prediction predicted(const ValidationRow& row) {
  Prediction prediction{.row = row};
  try {
    prediction.predicted = predict(row);
  } catch (const Error& error) {
    prediction.refusal = error.what();
  }
  return prediction;
}

struct GroupError {
  std::string group;
  int rows = 0;
  int refused = 0;
  double mean = 0;
  double worst = 0;
  double factor = 0;
};

std::vector<GroupError> errors_by_group(const std::vector<Prediction>& predictions) {
  std::vector<GroupError> groups;
  for (const Prediction& one : predictions) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const GroupError& other) { return other.group == one.row.group; });
    if (group == groups.end()) group = groups.insert(group, {.group = one.row.group});
    if (!one.refusal.empty()) {
      ++group->refused;
      continue;
    }
    ++group->rows;
    group->mean += std::abs(one.error());
    if (std::abs(one.error()) > std::abs(group->worst)) group->worst = one.error();
    group->factor += std::log(one.predicted / one.row.published);
  }
  for (GroupError& group : groups) {
    if (group.rows == 0) continue;
    group.mean /= group.rows;
    group.factor = std::exp(group.factor / group.rows);
  }
  return groups;
}

std::string percent(double share) { return fmt::format("{:+.1f}%", 100 * share); }

std::string rows_table(const std::vector<Prediction>& predictions) {
  std::vector<std::vector<std::string>> cells{{"group", "row", "published", "predicted", "error"}};
  for (const Prediction& one : predictions) {
    cells.push_back({one.row.group, one.row.name, fmt::format("{:.4g}", one.row.published)});
    if (one.refusal.empty()) {
      cells.back().insert(cells.back().end(), {fmt::format("{:.4g}", one.predicted), percent(one.error())});
    } else {
      cells.back().insert(cells.back().end(), {"-", one.refusal});
    }
  }
  return report::table(cells);
}

std::string groups_table(const std::vector<GroupError>& groups) {
  std::vector<std::vector<std::string>> cells{{"group", "rows", "mean error", "worst", "factor"}};
  for (const GroupError& group : groups) {
    cells.push_back({group.group, fmt::format("{}", group.rows), fmt::format("{:.1f}%", 100 * group.mean),
                     percent(group.worst), fmt::format("{:.3f}", group.factor)});
  }
  return report::table(cells);
}

json report_json(const std::vector<Prediction>& predictions) {
  json document{{"rows", json::array()}, {"groups", json::array()}};
  for (const Prediction& one : predictions) {
    json row{{"group", one.row.group}, {"name", one.row.name}, {"published", one.row.published}};
    if (one.refusal.empty()) {
      row["predicted"] = one.predicted;
      row["error"] = one.error();
    } else {
      row["refusal"] = one.refusal;
    }
    document["rows"].push_back(std::move(row));
  }
  for (const GroupError& group : errors_by_group(predictions)) {
    document["groups"].push_back({{"group", group.group},
                                  {"rows", group.rows},
                                  {"refused", group.refused},
                                  {"mean", group.mean},
                                  {"worst", group.worst},
                                  {"factor", group.factor}});
  }
  return document;
}

std::vector<ValidationRow> rows_of(const Options& options) {
  if (!options.paths.empty()) {
    std::vector<ValidationRow> rows;
    for (const std::string& path : options.paths) {
      const auto more = read_validation_rows(ir::read_small_file(path), path);
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
  }
  std::vector<ValidationRow> rows;
  for (const ValidationFile& file : validation_files()) {
    const auto more = read_validation_rows(std::string(file.text), std::string(file.name));
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace

int execute_validate(const Options& options) {
  if (!options.report_file.empty()) check_can_write(options.report_file);
  const std::vector<ValidationRow> rows = rows_of(options);
  std::vector<Prediction> predictions;
  Progress progress("validate", rows.size(), options.quiet);
  for (const ValidationRow& row : rows) {
    predictions.push_back(predicted(row));
    progress.advance();
  }
  progress.finish();
  if (!options.report_file.empty()) write_file(options.report_file, report_json(predictions).dump(2) + "\n");
  if (!options.quiet) fmt::print("{}\n", rows_table(predictions));
  const std::vector<GroupError> groups = errors_by_group(predictions);
  fmt::print("{}", groups_table(groups));
  const bool is_whole =
      std::all_of(groups.begin(), groups.end(), [](const GroupError& group) { return group.refused == 0; });
  return is_whole ? kDone : kFailed;
}

}  // namespace podium::cli
