// Derivatives of ONNX's own cases, in double, along a few directions for each input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "executor/session/session.h"
#include "ir/builder.h"
#include "ir/gradients/differentiate.h"
#include "ir/gradients/expand_gradients.h"
#include "ir/gradients/gradient.h"
#include "tests/executor/gradients/case_in_double.h"
#include "tests/support/gradients.h"
#include "tests/support/onnx_case.h"

namespace podium::testing {
namespace {

using ir::DataType;
using ir::ValueId;

constexpr double kLargestError = 1e-5;
constexpr std::string_view kPackaged = "/usr/share/libonnx-testdata/";

// 1 or -1, as a direction has it.
double sign_at(std::int64_t i, int direction) {
  return std::sin(78.233 * static_cast<double>(i + 1) + 3.1 * direction) > 0 ? 1 : -1;
}

std::size_t index_of(ValueId id) { return static_cast<std::size_t>(id.index); }

bool is_double(const ir::Type& type) { return type.is_tensor() && type.element == DataType::Double; }

bool is_read_as_given(const ir::Graph& graph, ValueId id) {
  return std::any_of(graph.ops.begin(), graph.ops.end(), [&](const ir::Op& op) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == id && ir::is_taken_as_given(*op.spec, i)) return true;
    }
    return false;
  });
}

struct Compared {
  double error = 0;
  std::string skipped = {};  // why nothing was compared
  bool is_smooth = true;     // differences of other steps agree
};

// One case: the sum of its outputs' elements, each with a weight of its own, is differentiated by its double
// inputs.
class Case {
 public:
  Case(CaseInDouble of, double step)
      : step_(step), inputs_(std::move(of.inputs)), model_(std::move(of.model)) {}

  Compared compare() {
    std::string skipped = prepare();
    if (!skipped.empty()) return {.skipped = std::move(skipped)};
    InferenceSession session(std::move(model_), {.threads = 1, .fuse = false});
    std::vector<ir::Tensor> found;
    for (const ir::Datum& result : session.run(inputs_)) found.push_back(result.tensor.clone());
    if (!std::isfinite(found[0].to_number())) return {.skipped = "no finite result", .is_smooth = false};
    Compared result;
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      for (int direction = 0; direction < 2; ++direction)
        compare_along(session, variables_[i], found[i + 1], direction, result);
    }
    note_checked(forward_, xs_);
    return result;
  }

 private:
  // Makes the score and its gradients the outputs. Gives why they cannot be compared.
  std::string prepare() {
    ir::Graph& graph = model_.graph;
    const ir::InferOptions options{.evaluate = kernels::evaluate};
    ir::infer(graph, options);
    ir::expand_gradients(graph, options);
    std::vector<ValueId> xs;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const ValueId id = graph.inputs[i];
      if (!inputs_[i].is_tensor() || !is_double(graph[id].type) || is_read_as_given(graph, id)) continue;
      xs.push_back(id);
      variables_.push_back(i);
    }
    const ir::IdMap<ir::ValueId, bool> depends = ir::dependents(graph, xs);
    std::vector<ValueId> outputs;
    for (ValueId id : graph.outputs) {
      if (is_double(graph[id].type) && depends[id]) outputs.push_back(id);
    }
    if (outputs.empty()) return "no double output changes smoothly with a double input";
    if (std::string why = why_coarse(depends, outputs); !why.empty()) return why;
    forward_ = graph;
    forward_.outputs = outputs;
    xs_ = xs;
    ir::Builder builder(graph);
    const ValueId y = score(builder, outputs);
    graph.outputs = ir::differentiate(graph, y, xs);
    graph.outputs.insert(graph.outputs.begin(), y);
    return {};
  }

  // Differences do not work for values that are rounded to fewer bits or drawn anew.
  std::string why_coarse(const ir::IdMap<ir::ValueId, bool>& depends,
                         const std::vector<ValueId>& outputs) const {
    const ir::Graph& graph = model_.graph;
    std::vector<bool> is_read(graph.values.size(), false);
    for (ValueId id : outputs) is_read[index_of(id)] = true;
    for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
      bool reaches = false;
      for (ValueId id : op->outputs) {
        if (!id.valid() || !is_read[index_of(id)]) continue;
        reaches = true;
        const ir::Type& type = graph[id].type;
        const bool is_coarse = type.is_tensor() && type.element != DataType::Double;
        if (depends[id] && is_coarse) return fmt::format("computed in {}", name_of(type.element));
      }
      if (!reaches) continue;
      if (op->spec->random && (!op->is("Dropout") || op->inputs.size() > 2))
        return "numbers are drawn at random";
      for (ValueId id : op->inputs) {
        if (id.valid()) is_read[index_of(id)] = true;
      }
    }
    return {};
  }

  static ValueId score(ir::Builder& builder, const std::vector<ValueId>& outputs) {
    std::vector<ValueId> sums;
    for (ValueId id : outputs) {
      const ir::Type type = builder.type(id);
      ValueId weights = id;  // where the shape is not known, elements weigh what they are
      if (type.is_static()) {
        ir::Tensor numbers(type.element, type.dims);
        for (std::int64_t i = 0; i < numbers.size(); ++i) numbers.data<double>()[i] = weight(i);
        weights = builder.constant(numbers);
      }
      const ValueId row =
          builder.op("Reshape", {builder.op("Mul", {id, weights}), builder.constant(ir::Tensor::ints({-1}))});
      sums.push_back(builder.op("ReduceSum", {row}, {{"keepdims", std::int64_t{0}}}));
    }
    return builder.op("Sum", sums);
  }

  double score_at(InferenceSession& session, std::size_t input, double step, int direction) const {
    std::vector<ir::Datum> moved = inputs_;
    moved[input].tensor = inputs_[input].tensor.clone();
    ir::Tensor& x = moved[input].tensor;
    for (std::int64_t i = 0; i < x.size(); ++i) x.data<double>()[i] += step * sign_at(i, direction);
    return session.run(moved)[0].tensor.to_number();
  }

  // Relative to the derivative or to the gradient's norm, what a derivative along some direction is like;
  // where both are small against the score, to what four digits fewer leave of it: differences know no more.
  void compare_along(InferenceSession& session, std::size_t input, const ir::Tensor& gradient, int direction,
                     Compared& result) const {
    const auto difference = [&](double step) {
      const auto at = [&](double steps) { return score_at(session, input, steps * step, direction); };
      return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step);
    };
    const double expected = difference(step_);
    double found = 0;
    double squares = 0;
    for (std::int64_t i = 0; i < gradient.size(); ++i) {
      const double g = gradient.data<double>()[i];
      found += g * sign_at(i, direction);
      squares += g * g;
    }
    const double score = std::fabs(score_at(session, input, 0, direction));
    const double size = std::max({std::sqrt(squares), std::fabs(expected), 1e-4 * score, 1e-9});
    const double error = std::fabs(found - expected) / size;
    if (error <= result.error) return;
    result.error = error;
    result.is_smooth =
        error < kLargestError || std::fabs(difference(step_ / 3) - expected) / size < kLargestError / 10;
  }

  double step_;
  std::vector<ir::Datum> inputs_;
  importer::Model model_;
  ir::Graph forward_ = {};  // its outputs are those that are differentiated by the xs
  std::vector<ValueId> xs_ = {};
  std::vector<std::size_t> variables_ = {};  // inputs; of each the gradient is an output, after the score
};

Compared compare(const std::string& folder, int attempt) {
  return Case(read_case_in_double(folder, attempt), 1e-4 * std::pow(0.1, attempt)).compare();
}

// Where a case has a kink it is moved away from it, and differences are taken over less.
Compared compare(const std::string& folder) {
  Compared found;
  for (int attempt = 0; attempt < 4; ++attempt) {
    found = compare(folder, attempt);
    if (found.is_smooth) break;
  }
  return found;
}

// Cases that have no differences, or no slope.
bool is_left_out(const std::string& folder) {
  constexpr std::array<std::string_view, 3> kNames{
      "test_bitcast_",                 // the bits of a double are not those of a float
      "test_op_reduce_reduce_op_",     // distances of points to themselves have no slope
      "test_dynamicquantizelinear_"};  // what it rounds to 8 bits is made of floats
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return folder.find(name) != std::string::npos; });
}

// Exactly so many, so that a case which is compared no more is seen; those of newer versions of ONNX come on
// top where they are.
TEST(GradientsOfOnnxCases, AreThoseOfDifferences) {
  double largest = 0;
  int compared = 0;
  std::map<std::string, int> skipped;
  for (const std::string& folder : case_folders(PODIUM_CASES)) {
    if (is_left_out(folder)) continue;
    const bool is_packaged = folder.starts_with(kPackaged);
    try {
      const Compared found = compare(folder);
      if (!found.skipped.empty()) {
        if (is_packaged) ++skipped[found.skipped];
        continue;
      }
      EXPECT_LT(found.error, kLargestError) << folder;
      largest = std::max(largest, found.error);
      if (is_packaged) ++compared;
    } catch (const std::exception& error) {
      ADD_FAILURE() << folder << ": " << error.what();
    }
  }
  fmt::print("{} cases compared, largest error {:.1e}\n", compared, largest);
  EXPECT_EQ(compared, 646);
  EXPECT_THAT(skipped, ::testing::ElementsAre(
                           ::testing::Pair("no double output changes smoothly with a double input", 272),
                           ::testing::Pair("numbers are drawn at random", 9)));
}

}  // namespace
}  // namespace podium::testing
