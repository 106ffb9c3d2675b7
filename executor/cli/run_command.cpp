// `podium run`: inference, the result table, and the outputs.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "executor/cli/compare.h"
#include "executor/cli/options.h"
#include "executor/cli/run_inputs.h"
#include "executor/cli/write_file.h"
#include "executor/report/model_summary.h"
#include "executor/report/table.h"
#include "executor/session/session.h"
#include "importer/tensor_file.h"

namespace podium::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

const std::vector<OptionGroup> kGroups{OptionGroup::Data, OptionGroup::Comparison, OptionGroup::Session};

struct OutputResult {
  std::string name;
  ir::Type type;
  bool compared = false;
  Comparison comparison = {};
  std::string preview = {};  ///< its first values, with --verbose
};

struct RunResult {
  report::ModelSummary summary;
  double prepare_seconds = 0;
  double run_seconds = 0;  ///< median
  double arena_bytes = 0;
  double host_bytes_in = 0;
  double host_bytes_out = 0;
  std::vector<OutputResult> outputs;
};

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double bytes_of(const ir::Datum& datum) { return datum.is_tensor() ? static_cast<double>(datum.tensor.bytes()) : 0; }

importer::Model import(const Options& options, const std::map<std::string, ir::Datum>& given) {
  importer::ImportOptions import_options{.dims = options.dims};
  for (const auto& [name, datum] : given) import_options.input_types[name] = type_of(datum);
  return importer::import_model(options.paths[0], import_options);
}

std::vector<ir::Datum> gather(const InferenceSession& session, const std::map<std::string, ir::Datum>& given,
                              const Options& options) {
  std::vector<ir::Datum> inputs;
  std::string drawn;
  for (const executor::HostTensor& input : session.inputs()) {
    const auto found = given.find(input.name);
    if (found != given.end()) {
      inputs.push_back(found->second);
      continue;
    }
    inputs.push_back(random_input(input.name, input.type, options.random_seed));
    drawn += (drawn.empty() ? "" : ", ") + input.name;
  }
  if (!drawn.empty() && !options.quiet) {
    fmt::print(stderr, "note: random values (seed {}) for {}\n", options.random_seed, drawn);
  }
  return inputs;
}

// The first values of an output, for --verbose.
std::string preview(const ir::Datum& datum) {
  constexpr std::int64_t kMostShown = 100;
  if (!datum.is_tensor() || datum.tensor.type() == ir::DataType::String) return "";
  std::string text;
  for (std::int64_t i = 0; i < std::min(datum.tensor.size(), kMostShown); ++i) {
    const double number = element_as_double(datum.tensor, i);
    // The shortest form that reads back as the same float.
    const bool is_narrow = is_float(datum.tensor.type()) && datum.tensor.type() != ir::DataType::Double;
    text += is_narrow ? fmt::format(" {}", static_cast<float>(number)) : fmt::format(" {}", number);
  }
  return text + (datum.tensor.size() > kMostShown ? " ..." : "");
}

OutputResult check_output(std::size_t i, const std::string& name, const ir::Datum& datum, const Options& options,
                          const importer::Signature& signature) {
  OutputResult result{.name = name, .type = type_of(datum)};
  if (options.verbose) result.preview = preview(datum);
  if (options.expected_folder.empty()) return result;
  const fs::path file = fs::path(options.expected_folder) / fmt::format("output_{}.pb", i);
  if (!fs::exists(file)) throw Error("{}: no such file, expected values of output '{}' needed", file.string(), name);
  const ir::Datum expected = importer::read_tensor_file(file.string(), signature.outputs[i].second);
  result.compared = true;
  result.comparison = compare(datum, expected, {options.relative, options.absolute});
  return result;
}

// Whether it can be saved; asked of every output before the first is.
void check_savable(const std::string& name, const ir::Datum& datum) {
  const bool is_numeric = datum.is_tensor() && datum.tensor.type() != ir::DataType::String;
  if (is_numeric) return;
  throw Error("output '{}' is {}, only tensors of numbers are written as .npy", name, to_string(type_of(datum)));
}

void save(const std::string& folder, const std::string& name, const ir::Datum& datum) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw Error("--output-dir {}: {}", folder, failed.message());
  // A name may hold separators: they would lead out of the folder.
  std::string file = name;
  std::replace(file.begin(), file.end(), '/', '_');
  importer::write_npy(datum.tensor, (fs::path(folder) / (file + ".npy")).string());
}

// What a model says of its outputs is binding only in the element type: exporters often leave a shape behind that
// holds for their own example alone.
void check_element_types(const InferenceSession& session, const importer::Signature& signature) {
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    const auto& [name, declared] = signature.outputs[i];
    const ir::Type& found = session.outputs()[i].type;
    const bool is_known = declared.is_tensor() && found.is_tensor() && declared.element != ir::DataType::Undefined &&
                          found.element != ir::DataType::Undefined;
    if (!is_known || declared.element == found.element) continue;
    throw Error("output '{}': declared as {}, its node gives {}", name, to_string(declared), to_string(found));
  }
}

void collect(const Options& options, const importer::Signature& signature, const InferenceSession& session,
             std::span<const ir::Datum> outputs, RunResult& result) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = session.outputs()[i].name;
    result.host_bytes_out += bytes_of(outputs[i]);
    result.outputs.push_back(check_output(i, name, outputs[i], options, signature));
    if (!options.output_folder.empty()) check_savable(name, outputs[i]);
  }
  if (options.output_folder.empty()) return;
  for (std::size_t i = 0; i < outputs.size(); ++i) save(options.output_folder, session.outputs()[i].name, outputs[i]);
}

// The error with the model's name in front.
template <class Step>
auto in_model(const Options& options, Step step) {
  try {
    return step();
  } catch (const Error& error) {
    throw error.at(options.paths[0]);
  } catch (const std::bad_alloc&) {
    throw Error("{}: out of memory", options.paths[0]);
  }
}

InferenceSession make_session(const Options& options, const std::map<std::string, ir::Datum>& given,
                              const importer::Signature& signature, RunResult& result) {
  importer::Model model = import(options, given);
  return in_model(options, [&] {
    optimize(model);
    result.summary = report::summarize(model.graph);
    InferenceSession session(std::move(model),
                             {.seed = options.seed, .threads = options.threads, .optimized = true});
    check_element_types(session, signature);
    return session;
  });
}

RunResult execute(const Options& options) {
  const importer::Signature signature = importer::read_signature(options.paths[0]);
  const auto given = read_inputs(options, signature);
  RunResult result;
  const auto start = Clock::now();
  InferenceSession session = make_session(options, given, signature, result);
  result.prepare_seconds = seconds_since(start);
  const std::vector<ir::Datum> inputs = in_model(options, [&] { return gather(session, given, options); });
  std::span<const ir::Datum> outputs;
  std::vector<double> times;
  for (int i = 0; i < options.repeat; ++i) {
    const auto run_start = Clock::now();
    outputs = in_model(options, [&] { return session.run(inputs); });
    times.push_back(seconds_since(run_start));
  }
  std::sort(times.begin(), times.end());
  result.run_seconds = times[times.size() / 2];
  result.arena_bytes = static_cast<double>(session.arena_bytes());
  for (const ir::Datum& input : inputs) result.host_bytes_in += bytes_of(input);
  collect(options, signature, session, outputs, result);
  return result;
}

void print(const RunResult& result) {
  const double memory = result.summary.parameter_bytes + result.arena_bytes;
  fmt::print("{}", report::table({
                       {"strategy", "one processor"},
                       {"processors", "1"},
                       {"micro-batches", "1"},
                       {"work", report::quantity(result.summary.flop) + " FLOP"},
                       {"largest memory", fmt::format("{}: weights {}, activations {}", report::bytes(memory),
                                                      report::bytes(result.summary.parameter_bytes),
                                                      report::bytes(result.arena_bytes))},
                       {"host to device", report::bytes(result.host_bytes_in)},
                       {"device to host", report::bytes(result.host_bytes_out)},
                       {"real time", fmt::format("{} a run, {} to load and prepare", report::duration(result.run_seconds),
                                                 report::duration(result.prepare_seconds))},
                   }));
  for (const OutputResult& output : result.outputs) {
    std::string line = fmt::format("{}  {}", output.name, to_string(output.type));
    if (output.compared) {
      line += fmt::format("  largest error {:.3g}  {}", output.comparison.largest_error,
                          output.comparison.agrees() ? "ok" : "differs: " + output.comparison.reason);
    }
    fmt::print("{}\n", line);
    if (!output.preview.empty()) fmt::print(" {}\n", output.preview);
  }
}

nlohmann::json to_json(const RunResult& result) {
  nlohmann::json json{{"version", 1},
                      {"strategy", "one processor"},
                      {"processors", 1},
                      {"microBatches", 1},
                      {"flop", result.summary.flop},
                      {"weightBytes", result.summary.parameter_bytes},
                      {"activationBytes", result.arena_bytes},
                      {"hostBytesIn", result.host_bytes_in},
                      {"hostBytesOut", result.host_bytes_out},
                      {"realSeconds", result.run_seconds},
                      {"prepareSeconds", result.prepare_seconds}};
  for (const OutputResult& output : result.outputs) {
    nlohmann::json entry{{"name", output.name}, {"type", to_string(output.type)}};
    if (output.compared) {
      entry["largestError"] = output.comparison.largest_error;
      entry["ok"] = output.comparison.agrees();
    }
    json["outputs"].push_back(entry);
  }
  return json;
}

}  // namespace

int run_run(const Arguments& arguments) {
  const Options options = parse("run", arguments, kGroups);
  if (options.help) {
    fmt::print("{}", help("run", "Runs inference and prints the result table and a line per output.", kGroups));
    return 0;
  }
  if (options.paths.size() != 1) throw UsageError("run: {} models found, one needed", options.paths.size());
  const RunResult result = execute(options);
  if (!options.report_file.empty()) write_file(options.report_file, to_json(result).dump(2) + "\n");
  print(result);
  const bool agrees = std::all_of(result.outputs.begin(), result.outputs.end(),
                                  [](const OutputResult& output) { return output.comparison.agrees(); });
  return agrees ? 0 : 1;
}

}  // namespace podium::cli
