// Ops with bodies. A body is prepared once as a BodyRunner: a function from the formal inputs, followed by
// the captured values, to the results. If prepares both branches, or only the one that a constant condition
// takes. Loop and Scan carry states from result to input by moving them, and collect scan outputs in a Stack,
// which becomes one tensor at the end; a Scan's axes and directions say how inputs are sliced and outputs
// stacked. Abort ends the run.
#include <algorithm>
#include <limits>

#include "executor/kernels/families.h"
#include "executor/kernels/tools/body.h"
#include "executor/kernels/tools/dispatch.h"
#include "ir/interruption.h"

namespace podium::kernels {
namespace {

bool truth(const Datum& datum) {
  if (!datum.is_tensor() || datum.tensor.type() != DataType::Bool || datum.tensor.size() != 1) {
    throw Error("the condition is {}, one bool needed", to_string(type_of(datum)));
  }
  return *datum.tensor.data<bool>();
}

PreparedKernel if_else(PrepareContext& context) {
  const Tensor* known = context.constant(0);
  BodyRunner then_branch;
  BodyRunner else_branch;
  // A branch that cannot run need not be fit to run.
  if (known == nullptr || truth(*known)) then_branch = context.prepare_body("then_branch");
  if (known == nullptr || !truth(*known)) else_branch = context.prepare_body("else_branch");
  return [then_branch, else_branch](const RunContext& run) {
    const std::vector<Datum> inputs = captured(run, 1);
    const std::vector<Datum> results = truth(run.datum(0)) ? then_branch(inputs) : else_branch(inputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (run.has_output(i)) run.set(i, kept(results[i]));
    }
  };
}

// A tensor grown by one part at a time; all parts have one shape.
class Stack {
 public:
  Stack(int axis, bool backwards) : axis_(axis), backwards_(backwards) {}

  void add(Datum part, std::size_t output) {
    if (!part.is_tensor())
      throw Error("scan output {} is {}, a tensor needed", output, to_string(type_of(part)));
    if (!parts_.empty() && part.tensor.dims() != parts_[0].dims()) {
      throw Error("scan output {} has shape {} in iteration {}, {} needed as before", output,
                  ir::to_string(part.tensor.dims()), parts_.size(), ir::to_string(parts_[0].dims()));
    }
    parts_.push_back(std::move(part.tensor));
  }

  Tensor take(const ir::Type& type) const {
    if (parts_.empty()) return empty_stack(type);
    const auto count = std::ssize(parts_);
    const int axis = ir::normalized_axis(axis_, parts_[0].rank() + 1, "scan_output_axes");
    Dims dims = parts_[0].dims();
    dims.insert(dims.begin() + axis, count);
    Tensor whole(parts_[0].type(), std::move(dims));
    for (std::int64_t i = 0; i < count; ++i) {
      place_at(whole, axis, backwards_ ? count - 1 - i : i, parts_[i]);
    }
    return whole;
  }

 private:
  int axis_;
  bool backwards_;
  std::vector<Tensor> parts_;
};

std::int64_t most_trips(const Tensor& given) {
  if (given.size() != 1) throw Error("M has {} elements, one needed", given.size());
  return given.to_ints()[0];
}

struct LoopPlan {
  BodyRunner body;
  std::size_t formal = 0;  // inputs that are not captured
  std::size_t states = 0;
  bool has_most = false;
  bool has_condition = false;
  Dims iteration_dims = {};
  Dims condition_dims = {};
  std::vector<ir::Type> output_types = {};

  void operator()(const RunContext& run) const;
  void finish(const RunContext& run, std::span<const Datum> last, std::span<const Stack> stacks) const;
};

void LoopPlan::operator()(const RunContext& run) const {
  const std::int64_t most = has_most ? most_trips(run.input(0)) : std::numeric_limits<std::int64_t>::max();
  bool goes_on = !has_condition || truth(run.datum(1));
  std::vector<Datum> inputs(2);
  for (std::size_t i = 2; i < run.inputs.size(); ++i) inputs.push_back(run.datum(i));
  std::vector<Stack> stacks(output_types.size() - states, Stack(0, false));
  for (std::int64_t iteration = 0; iteration < most && goes_on; ++iteration) {
    ir::look_for_interruption();
    inputs[0] = Tensor::of<std::int64_t>(iteration_dims, {iteration});
    inputs[1] = Tensor::of<bool>(condition_dims, {goes_on});
    std::vector<Datum> results = body(inputs);
    goes_on = truth(results[0]);
    for (std::size_t i = 0; i < states; ++i) inputs[2 + i] = std::move(results[1 + i]);
    for (std::size_t i = 0; i < stacks.size(); ++i)
      stacks[i].add(std::move(results[1 + states + i]), states + i);
  }
  finish(run, std::span(inputs).subspan(2, states), stacks);
}

void LoopPlan::finish(const RunContext& run, std::span<const Datum> last,
                      std::span<const Stack> stacks) const {
  for (std::size_t i = 0; i < output_types.size(); ++i) {
    if (!run.has_output(i)) continue;
    run.set(i, i < states ? kept(last[i]) : Datum(stacks[i - states].take(output_types[i])));
  }
}

PreparedKernel loop(PrepareContext& context) {
  const ir::Graph& body = *context.get<ir::Body>("body");
  LoopPlan plan{.body = context.prepare_body("body"), .formal = context.op.formal_inputs()};
  plan.states = plan.formal < 2 ? 0 : plan.formal - 2;
  plan.has_most = plan.formal > 0 && context.has_input(0);
  plan.has_condition = plan.formal > 1 && context.has_input(1);
  plan.iteration_dims = body[body.inputs[0]].type.dims;
  plan.condition_dims = body[body.inputs[1]].type.dims;
  plan.output_types = context.output_types;
  return plan;
}

struct ScanPlan {
  BodyRunner body;
  std::size_t states = 0;
  std::size_t scans = 0;
  ir::IntList input_axes = {};
  ir::IntList input_directions = {};
  ir::IntList output_axes = {};
  ir::IntList output_directions = {};
  std::vector<ir::Type> output_types = {};

  std::int64_t length(const RunContext& run, std::span<const int> axes) const;
  void operator()(const RunContext& run) const;
};

std::int64_t ScanPlan::length(const RunContext& run, std::span<const int> axes) const {
  const std::int64_t first = run.input(states).dim(axes[0]);
  for (std::size_t i = 1; i < scans; ++i) {
    const std::int64_t found = run.input(states + i).dim(axes[i]);
    if (found != first)
      throw Error("scan input {} has {} entries, {} needed as in the first", i, found, first);
  }
  return first;
}

void ScanPlan::operator()(const RunContext& run) const {
  std::vector<int> axes;
  for (std::size_t i = 0; i < scans; ++i) {
    const int rank = run.input(states + i).rank();
    axes.push_back(ir::normalized_axis(input_axes[i], rank, "scan_input_axes"));
  }
  const std::int64_t count = length(run, axes);
  std::vector<Datum> inputs = captured(run, 0);
  std::vector<Stack> stacks;
  for (std::size_t i = 0; i + states < output_types.size(); ++i) {
    stacks.emplace_back(output_axes[i], output_directions[i] != 0);
  }
  for (std::int64_t t = 0; t < count; ++t) {
    ir::look_for_interruption();
    for (std::size_t i = 0; i < scans; ++i) {
      const std::int64_t index = input_directions[i] != 0 ? count - 1 - t : t;
      inputs[states + i] = slice_at(run.input(states + i), axes[i], index);
    }
    std::vector<Datum> results = body(inputs);
    for (std::size_t i = 0; i < states; ++i) inputs[i] = std::move(results[i]);
    for (std::size_t i = 0; i < stacks.size(); ++i) stacks[i].add(std::move(results[states + i]), states + i);
  }
  for (std::size_t i = 0; i < output_types.size(); ++i) {
    if (!run.has_output(i)) continue;
    run.set(i, i < states ? kept(inputs[i]) : Datum(stacks[i - states].take(output_types[i])));
  }
}

// A list attribute with one entry for each of `count`; ONNX's default is 0 for all.
ir::IntList entries(const PrepareContext& context, std::string_view name, std::size_t count) {
  const ir::IntList* given = context.get_if<ir::IntList>(name);
  if (given == nullptr) return ir::IntList(count, 0);
  if (given->size() != count) throw Error("{} has {} entries, {} needed", name, given->size(), count);
  return *given;
}

PreparedKernel scan(PrepareContext& context) {
  ScanPlan plan{.body = context.prepare_body("body")};
  plan.scans = context.get_int("num_scan_inputs");
  plan.states = context.op.formal_inputs() - plan.scans;
  plan.output_types = context.output_types;
  plan.input_axes = entries(context, "scan_input_axes", plan.scans);
  plan.input_directions = entries(context, "scan_input_directions", plan.scans);
  plan.output_axes = entries(context, "scan_output_axes", plan.output_types.size() - plan.states);
  plan.output_directions = entries(context, "scan_output_directions", plan.output_types.size() - plan.states);
  return plan;
}

PreparedKernel sequence_map(PrepareContext& context) {
  const BodyRunner body = context.prepare_body("body");
  return [body, formal = context.op.formal_inputs(), count = context.output_count()](const RunContext& run) {
    const std::size_t length = run.datum(0).items->size();
    std::vector<Datum> inputs = captured(run, 0);
    std::vector<std::vector<Datum>> results(count);
    for (std::size_t item = 0; item < length; ++item) {
      ir::look_for_interruption();
      for (std::size_t i = 0; i < formal; ++i) {
        if (run.datum(i).holds != Datum::Holds::Sequence) continue;
        const ir::Items& items = *run.datum(i).items;
        if (items.size() != length) throw Error("input {} has {} items, {} needed", i, items.size(), length);
        inputs[i] = items[item];
      }
      const std::vector<Datum> outputs = body(inputs);
      for (std::size_t i = 0; i < count; ++i) results[i].push_back(kept(outputs[i]));
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (run.has_output(i)) run.set(i, Datum::sequence(std::move(results[i])));
    }
  };
}

template <class T>
bool is_null(T value) {
  return value == T{};
}
bool is_null(ir::Float16 value) { return static_cast<float>(value) == 0; }
bool is_null(ir::Bfloat16 value) { return static_cast<float>(value) == 0; }

PreparedKernel abort_run(PrepareContext& context) {
  if (!context.has_input(0)) return [](const RunContext&) { throw Error("the model ends the run"); };
  return dispatch<float, double, ir::Float16, ir::Bfloat16, std::int8_t, std::int16_t, std::int32_t,
                  std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool>(
      context.element(0), [](auto tag) -> PreparedKernel {
        return [](const RunContext& run) {
          const Tensor& condition = run.input(0);
          if (condition.size() > 0 && !is_null(*condition.data<decltype(tag)>())) {
            throw Error("the model ends the run: its condition is not zero");
          }
        };
      });
}

}  // namespace

std::span<const KernelSpec> control_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Abort", .prepare = abort_run, .domain = "ai.graphcore"},
      {.name = "If", .prepare = if_else},
      {.name = "Loop", .prepare = loop},
      {.name = "Scan", .prepare = scan},
      {.name = "SequenceMap", .prepare = sequence_map},
  };
  return kKernels;
}

}  // namespace podium::kernels
