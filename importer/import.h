// Reads ONNX models into the IR, every op in its newest meaning.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace podium::importer {

/// The newest version of ai.onnx that can be read.
inline constexpr int kNewestOpset = 28;

/// Where the data of larger tensors are that lie inside a model's file.
enum class LargeData : std::uint8_t {
  Copied,  ///< in memory: the file may be written over while the model lives
  InFile,  ///< in the file, which is mapped and stays as it is, until somebody reads them at once
};

/// What the caller knows of the inputs before the model is read.
struct ImportOptions {
  /// Values of symbolic dimensions by name, "INPUT:AXIS" for one without a name; "*" for all that nothing
  /// else binds.
  std::map<std::string, std::int64_t> dims = {};
  /// Types of the inputs that will be fed; they bind dimensions that the model leaves open.
  std::map<std::string, ir::Type> input_types = {};
  /// A fed shape replaces a declared one that contradicts it, as in ONNX's own test runner: some of its cases
  /// feed other shapes than their models declare. Otherwise a contradiction is an error.
  bool fed_shapes_win = false;
  /// Sizes of dimensions of inputs that are open after all that, named as in `dims`. They count as open all
  /// the same (ModelInfo::open).
  std::map<std::string, std::int64_t> assumed = {};
  /// Inputs that are constants (fix_inputs).
  std::map<std::string, std::vector<double>> constants = {};
  LargeData large_data = LargeData::Copied;  ///< of a file
};

/// ImportOptions::assumed of whoever takes 1 for all.
inline const std::map<std::string, std::int64_t> kOneForAll{{"*", 1}};

/// The dimensions that the model leaves open and that the caller gave no size.
struct OpenDims {
  /// Of inputs and outputs that have some: a name for each dimension, "?" where the model has none, "" for
  /// one whose size is known.
  std::map<std::string, std::vector<std::string>> of_values = {};
  /// Those of inputs, each once, as ImportOptions::dims has them.
  std::vector<std::string> names = {};
  /// The sizes that ImportOptions::assumed gave to some of these.
  std::map<std::string, std::int64_t> assumed = {};
};

/// A model's own data beside its graph.
struct ModelInfo {
  std::int64_t ir_version = 0;
  std::string producer = {};                        ///< name and version
  std::map<std::string, std::int64_t> opsets = {};  ///< domain ("" is ai.onnx) to version
  std::map<std::string, std::string> metadata = {};
  OpenDims open = {};
};

/// "float[batch,?,64]": the type with the names of what is open in an input or output.
std::string type_text(const OpenDims& open, const std::string& value, const ir::Type& type);

/// A call of one of the model's functions, whose nodes are in the graph in its place.
struct FunctionCall {
  std::string function;  ///< its key, as NodeSharding::InFunction has it
  std::string prefix;    ///< before the names of its nodes, and of its values but for those in `names`
  std::map<std::string, std::string> names =
      {};  ///< of its inputs and outputs, what they are called in the graph
};

struct Source;  // the model as it was read; the writer gives it back

struct Model {
  ir::Graph graph;
  ModelInfo info;
  std::shared_ptr<const Source> source;
  /// For each op of the graph as it was imported, the index of the node of the file's main graph that it came
  /// from; -1 for an op that stands for no node.
  std::vector<std::int32_t> nodes_of_ops = {};
  std::vector<FunctionCall> calls = {};  ///< outside of bodies, in the order in which they end
  ImportOptions given = {};              ///< that it was imported with
};

/// The same file's model once more, as it is with these sizes for what was left open: ImportOptions::assumed.
/// What was done to the graph since is not in it. Error for a model that came from no file.
Model with_sizes(const Model& model, const std::map<std::string, std::int64_t>& assumed);

/// An op of another domain that models may have and that is read as ops of ONNX.
struct RewrittenOp {
  std::string_view domain;
  std::string_view name;
};
/// By domain and name.
std::vector<RewrittenOp> rewritten_ops();

/// Initializers of the main graph in the file, with the types they have there; none where there was no file.
std::map<std::string, ir::Type> initializer_types(const Model& model);

/// Reads a .onnx or .onnxtxt file. External data stays mapped while the tensors live.
/// Error names the file, the node or tensor, what was found and what was needed.
Model import_model(const std::string& path, const ImportOptions& options = {});
/// ONNX text, as tests write graphs.
Model import_text(const std::string& text, const ImportOptions& options = {});
/// A binary model in memory. External data are looked for in the working directory.
Model import_bytes(std::span<const char> bytes, const ImportOptions& options = {});

}  // namespace podium::importer
