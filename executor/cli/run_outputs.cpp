#include "executor/cli/run_outputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "executor/cli/run_inputs.h"
#include "importer/tensor_file.h"
#include "ir/files.h"
#include "ir/printable.h"

namespace podium::cli {
namespace {

namespace fs = std::filesystem;

// The first values of an output, for --verbose.
std::string preview(const ir::Datum& datum) {
  constexpr std::int64_t kMostShown = 100;
  if (!datum.is_tensor() || datum.tensor.type() == ir::DataType::String) return "";
  std::string text;
  for (std::int64_t i = 0; i < std::min(datum.tensor.size(), kMostShown); ++i) {
    const double number = compare::element_as_double(datum.tensor, i);
    // The shortest form that reads back as the same float.
    const bool is_narrow = is_float(datum.tensor.type()) && datum.tensor.type() != ir::DataType::Double;
    text += is_narrow ? fmt::format(" {}", static_cast<float>(number)) : fmt::format(" {}", number);
  }
  return text + (datum.tensor.size() > kMostShown ? " ..." : "");
}

// A name may hold what no file's name can, or what would lead out of the folder.
std::string file_of(const std::string& name) {
  constexpr std::size_t kLongest = 200;  // file systems take 255 bytes, and the file has another name first
  std::string file = ir::printable(name);
  std::replace(file.begin(), file.end(), '/', '_');
  if (file.size() > kLongest) file.resize(kLongest);
  return ir::printable(file) + ".npy";
}

// As test cases have it, or as --output-dir writes it.
std::string expected_file(const std::string& folder, std::size_t i, const std::string& name) {
  const fs::path numbered = fs::path(folder) / fmt::format("output_{}.pb", i);
  const fs::path named = fs::path(folder) / file_of(name);
  for (const fs::path& file : {numbered, named}) {
    if (ir::is_there(file)) return file.string();
  }
  throw Error("{}: no such file, nor {}, expected values of output '{}' needed", numbered.string(),
              named.filename().string(), name);
}

OutputResult check_output(std::size_t i, const std::string& name, const ir::Datum& datum,
                          const Options& options, const importer::Signature& signature) {
  OutputResult result{.name = name, .type = type_of(datum)};
  if (options.verbose) result.preview = preview(datum);
  if (options.expected_folder.empty()) return result;
  const std::string file = expected_file(options.expected_folder, i, name);
  const ir::Type& declared = i < signature.outputs.size() ? signature.outputs[i].second : result.type;
  const ir::Datum expected = in_precision(importer::read_tensor_file(file, declared), options);
  result.compared = true;
  result.comparison =
      compare::compare_results(datum, expected, {options.relative, options.absolute, options.of_largest});
  return result;
}

// Whether it can be saved; asked of every output before the first is.
void check_savable(const std::string& name, const ir::Datum& datum) {
  const bool is_numeric = datum.is_tensor() && datum.tensor.type() != ir::DataType::String;
  if (is_numeric) return;
  throw Error("output '{}' is {}, only tensors of numbers are written as .npy", name,
              to_string(type_of(datum)));
}

void save(const std::string& folder, const std::string& name, const ir::Datum& datum) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw Error("--output-dir {}: {}", folder, failed.message());
  importer::write_npy(datum.tensor, (fs::path(folder) / file_of(name)).string());
}

// Two outputs with one file: the second would replace the first.
void check_files(std::span<const executor::HostTensor> outputs) {
  std::map<std::string, std::string> names;
  for (const executor::HostTensor& output : outputs) {
    const auto [other, is_new] = names.emplace(file_of(output.name), output.name);
    if (!is_new)
      throw Error("outputs '{}' and '{}' would both be {} in --output-dir", other->second, output.name,
                  other->first);
  }
}

}  // namespace

// What a model says of its outputs is binding only in the element type: exporters often leave a shape behind
// that holds for their own example alone.
void check_element_types(const InferenceSession& session, const importer::Signature& signature) {
  const std::size_t count = std::min(signature.outputs.size(), session.outputs().size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [name, declared] = signature.outputs[i];
    const ir::Type& found = session.outputs()[i].type;
    const bool is_known = declared.is_tensor() && found.is_tensor() &&
                          declared.element != ir::DataType::Undefined &&
                          found.element != ir::DataType::Undefined;
    if (!is_known || declared.element == found.element) continue;
    throw Error("output '{}': declared as {}, its node gives {}", name, to_string(declared),
                to_string(found));
  }
}

std::vector<OutputResult> collect(const Options& options, const importer::Signature& signature,
                                  const InferenceSession& session, std::span<const ir::Datum> outputs) {
  std::vector<OutputResult> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = session.outputs()[i].name;
    results.push_back(check_output(i, name, outputs[i], options, signature));
    if (!options.output_folder.empty()) check_savable(name, outputs[i]);
  }
  if (options.output_folder.empty()) return results;
  check_files(session.outputs());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    save(options.output_folder, session.outputs()[i].name, outputs[i]);
  }
  return results;
}

std::string print(const OutputResult& output) {
  std::string line = fmt::format("{}  {}", ir::printable(output.name), to_string(output.type));
  if (output.compared) {
    const compare::Comparison& found = output.comparison;
    line += fmt::format("  largest error {:.3g}", found.largest_error);
    if (found.largest_number > 0)
      line += fmt::format(", {:.2g} of the largest number", found.largest_error / found.largest_number);
    line += found.agrees() ? "  ok" : "  differs: " + ir::printable(found.reason);
  }
  line += "\n";
  if (!output.preview.empty()) line += fmt::format(" {}\n", output.preview);
  return line;
}

}  // namespace podium::cli
