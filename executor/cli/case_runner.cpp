// A case is model.onnx with folders of input_N.pb and output_N.pb. Each is run under the strategy that is
// asked for: every micro-batch of every replica gets the same inputs, put together into the arrays of one
// run, and the outputs are taken apart again. A case that cannot be split as asked runs on one processor.
// What is known to be wrong with a published case (errata.h) is mended before.
#include "executor/cli/case_runner.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <vector>

#include "executor/cli/errata.h"
#include "importer/read_tensor.h"
#include "importer/tensor_file.h"
#include "ir/cannot_split.h"
#include "ir/files.h"

namespace podium::cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> data_sets(const fs::path& folder) {
  std::vector<fs::path> sets;
  for (const fs::path& entry : ir::entries_of(folder)) {
    if (entry.filename().string().starts_with("test_data_set_") && ir::is_folder(entry))
      sets.push_back(entry);
  }
  return sets;
}

struct Inputs {
  std::vector<ir::Datum> data;
  std::map<std::string, ir::Type> types;
};

Inputs read_inputs(const fs::path& set, const importer::Signature& signature) {
  Inputs inputs;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const fs::path file = set / fmt::format("input_{}.pb", i);
    if (!ir::is_there(file)) break;
    const auto& [name, type] = signature.inputs[i];
    inputs.data.push_back(importer::read_tensor_file(file.string(), type));
    // Other runtimes take an array of one element for a scalar, and their users' data hold such arrays.
    ir::Datum& datum = inputs.data.back();
    const bool is_scalar = type.is_tensor() && type.has_rank && type.rank() == 0;
    if (is_scalar && datum.is_tensor() && datum.tensor.size() == 1) datum = datum.tensor.reshaped({});
    inputs.types[name] = type_of(inputs.data.back());
  }
  return inputs;
}

// Whether a Dropout leaves its input alone: ratio 0, or not in training mode.
bool is_quiet_dropout(const ir::Graph& graph, const ir::Op& op, const Inputs& inputs) {
  const auto number = [&](std::size_t i, double fallback) {
    if (i >= op.inputs.size() || !op.inputs[i].valid()) return fallback;
    if (graph.is_constant(op.inputs[i])) return graph[op.inputs[i]].constant->to_number();
    const auto found = std::find(graph.inputs.begin(), graph.inputs.end(), op.inputs[i]);
    if (found == graph.inputs.end()) return 1.0;
    return inputs.data[found - graph.inputs.begin()].tensor.to_number();
  };
  return op.is("Dropout") && (number(1, 0.5) == 0 || number(2, 0) == 0);
}

// ONNX defines no generator: what such an op gives need only have the expected type and shape.
const ir::Op* first_random_op(const ir::Graph& graph, const Inputs& inputs) {
  for (const ir::Op& op : graph.ops) {
    if (op.spec->random && !is_quiet_dropout(graph, op, inputs)) return &op;
  }
  return nullptr;
}

// bfloat16 numbers that were cut off lie up to one unit in the last place below the rounded ones.
compare::Tolerance tolerance_for(const ir::Datum& expected, const Erratum* erratum,
                                 compare::Tolerance tolerance) {
  constexpr double kUnitOfBfloat16 = 0x1p-7;
  if (erratum == nullptr) return tolerance;
  const bool is_bfloat16 = expected.is_tensor() && expected.tensor.type() == ir::DataType::Bfloat16;
  if (erratum->truncated_bfloat16 && is_bfloat16) tolerance.relative = kUnitOfBfloat16;
  tolerance.absolute = std::max(tolerance.absolute, erratum->noise);
  return tolerance;
}

// The data `times` times, one after the other: of an input that is no tensor, whatever it holds, as a
// sequence.
ir::Datum repeated(const ir::Datum& datum, const ir::Type& input, std::int64_t times) {
  if (times == 1) return datum;
  if (!input.is_tensor()) return ir::Datum::sequence(std::vector<ir::Datum>(times, datum));
  ir::Dims dims = datum.tensor.dims();
  dims.insert(dims.begin(), times);
  ir::Tensor all(datum.tensor.type(), dims);
  if (datum.tensor.type() == ir::DataType::String) {
    for (std::int64_t i = 0; i < all.size(); ++i)
      all.data<std::string>()[i] = datum.tensor.data<std::string>()[i % datum.tensor.size()];
    return all;
  }
  auto* bytes = static_cast<std::byte*>(all.raw());
  for (std::int64_t i = 0; i < times; ++i) {
    const auto* source = static_cast<const std::byte*>(datum.tensor.raw());
    bytes = std::copy_n(source, datum.tensor.bytes(), bytes);
  }
  return all;
}

// What `repeated` put together, apart again. `leading` dimensions count the parts.
std::vector<ir::Datum> parts_of(const ir::Datum& datum, std::int64_t times, int leading) {
  if (times == 1) return {datum};
  if (!datum.is_tensor()) return {datum.items->begin(), datum.items->end()};
  const ir::Tensor& all = datum.tensor;
  const ir::Dims dims(all.dims().begin() + leading, all.dims().end());
  const std::size_t bytes = all.bytes() / static_cast<std::size_t>(times);
  std::vector<ir::Datum> parts;
  for (std::size_t i = 0; i < static_cast<std::size_t>(times); ++i) {
    const auto* start = static_cast<const std::byte*>(all.raw()) + i * bytes;
    parts.emplace_back(ir::Tensor::adopt(all.type(), dims, start, nullptr));
  }
  return parts;
}

struct Prepared {
  InferenceSession session;
  std::vector<ir::Datum> inputs;
  std::int64_t micro_batches = 1;  // of all replicas
  int leading = 0;                 // dimensions of the outputs that count them
};

Prepared prepare(const importer::Model& model, const Inputs& inputs, const SessionOptions& options) {
  const Strategy& strategy = options.strategy;
  const std::int64_t times = std::int64_t{strategy.batches_per_step} * strategy.replicas;
  std::vector<ir::Datum> data;
  for (std::size_t i = 0; i < inputs.data.size(); ++i)
    data.push_back(repeated(inputs.data[i], model.graph[model.graph.inputs[i]].type, times));
  const int leading = (strategy.batches_per_step > 1 ? 1 : 0) + (strategy.replicas > 1 ? 1 : 0);
  return {{model, options}, std::move(data), times, leading};
}

int count_computes(const std::vector<executor::Step>& steps) {
  int count = 0;
  for (const executor::Step& step : steps) {
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action))
      count += count_computes(repeat->body);
    if (std::holds_alternative<executor::Compute>(step.action)) ++count;
  }
  return count;
}

// Under the strategy where the model can be split, else on one processor; then `unsplit` says why.
Prepared prepare(const importer::Model& model, const Inputs& inputs, SessionOptions options,
                 std::string& unsplit) {
  try {
    Prepared prepared = prepare(model, inputs, options);
    const bool is_whole = count_computes(prepared.session.program().steps) <= 1;
    if (options.strategy.phases.phases > 1 && is_whole) unsplit = "all its ops are in one phase";
    return prepared;
  } catch (const CannotSplit& error) {
    unsplit = error.what();
  }
  options.strategy = {};
  return prepare(model, inputs, options);
}

CaseResult run_set(const fs::path& model_path, const fs::path& set, const compare::Tolerance& tolerance,
                   const SessionOptions& options) {
  const importer::Signature signature = importer::read_signature(model_path.string());
  const auto opset = signature.opsets.find("");
  const Erratum* erratum = find_erratum(model_path.parent_path().filename().string(),
                                        opset == signature.opsets.end() ? 1 : opset->second);
  const Inputs inputs = read_inputs(set, signature);
  importer::Model model =
      importer::import_model(model_path.string(), {.input_types = inputs.types, .fed_shapes_win = true});
  if (erratum != nullptr) correct(*erratum, model.graph);
  importer::Model optimized = model;
  optimize(optimized);
  const ir::Op* random = first_random_op(optimized.graph, inputs);
  const std::string drawn =
      random == nullptr ? ""
                        : fmt::format("the expected values were drawn at random ({})", random->spec->name);
  CaseResult result{.reason = erratum == nullptr ? "" : std::string(erratum->fault)};
  Prepared prepared = prepare(model, inputs, options, result.unsplit);
  const auto results = prepared.session.run(prepared.inputs);
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    const fs::path file = set / fmt::format("output_{}.pb", i);
    const auto& [name, type] = signature.outputs[i];
    const ir::Datum expected = importer::read_tensor_file(file.string(), type);
    for (const ir::Datum& found : parts_of(results[i], prepared.micro_batches, prepared.leading)) {
      const compare::Comparison comparison =
          compare::compare_results(found, expected, tolerance_for(expected, erratum, tolerance));
      if (comparison.agrees()) continue;
      if (!drawn.empty() && type_of(found) == type_of(expected))
        return {.outcome = Outcome::Skipped, .reason = drawn};
      return {.outcome = Outcome::Failed,
              .reason = fmt::format("output '{}': {}", name, comparison.reason),
              .output = name,
              .comparison = comparison};
    }
  }
  return result;
}

}  // namespace

CaseResult run_case(const std::string& folder, const compare::Tolerance& tolerance,
                    const SessionOptions& options) try {
  CaseResult result;
  for (const fs::path& set : data_sets(folder)) {
    result = run_set(fs::path(folder) / "model.onnx", set, tolerance, options);
    if (result.outcome != Outcome::Passed) return result;
  }
  return result;
} catch (const std::exception& error) {
  return {.outcome = Outcome::Failed, .reason = error.what()};
}

}  // namespace podium::cli
