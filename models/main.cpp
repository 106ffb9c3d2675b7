// The program `podium-models`: lists the shipped models and writes them as ONNX files.
#include <fmt/core.h>

#include <cstdio>

#include "importer/export_graph.h"
#include "importer/unfinished_file.h"
#include "ir/error.h"
#include "models/catalog.h"

namespace podium::models {
namespace {

constexpr const char* kUsage =
    "podium-models --list\n"
    "podium-models NAME [key=value ...] -o FILE.onnx\n"
    "\n"
    "Every model takes seed=N, weights=seeded|none, type=float|float16, form=ops|primitive and\n"
    "loss=none|cross-entropy beside its own parameters. The same line writes the same bytes every time.\n";

void list() {
  for (const ModelSpec& spec : catalog()) {
    fmt::print("{}: {}\n", spec.name, spec.summary);
    for (const ParameterSpec& parameter : spec.parameters) {
      fmt::print("  {}={}  {}\n", parameter.name, parameter.fallback, parameter.meaning);
    }
  }
}

struct CommandLine {
  std::string model;
  Parameters parameters;
  std::string file;
};

class UsageError : public Error {
  using Error::Error;
};

CommandLine read(int count, char** values) {
  CommandLine line;
  for (int i = 1; i < count; ++i) {
    const std::string word = values[i];
    const std::size_t equals = word.find('=');
    if (word == "-o") {
      if (++i == count) throw UsageError("-o: nothing found, a file name needed");
      line.file = values[i];
    } else if (equals != std::string::npos) {
      line.parameters[word.substr(0, equals)] = word.substr(equals + 1);
    } else if (line.model.empty() && !word.starts_with("-")) {
      line.model = word;
    } else {
      throw UsageError("'{}' found, key=value or -o FILE.onnx needed", word);
    }
  }
  if (line.model.empty()) throw UsageError("no model named, see podium-models --list");
  if (line.file.empty()) throw UsageError("no file named, -o FILE.onnx needed");
  return line;
}

int run(int count, char** values) {
  const std::string first = count > 1 ? values[1] : "--help";
  if (first == "--help") {
    fmt::print("{}", kUsage);
    return 0;
  }
  if (first == "--list") {
    list();
    return 0;
  }
  const CommandLine line = read(count, values);
  const BuiltModel model = build(line.model, line.parameters);
  importer::export_graph(model.graph, line.file, {.opset = model.opset, .symbolic = model.symbolic});
  return 0;
}

}  // namespace
}  // namespace podium::models

int main(int count, char** values) {
  podium::importer::remove_unfinished_files_at_signals();
  try {
    return podium::models::run(count, values);
  } catch (const podium::models::UsageError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
