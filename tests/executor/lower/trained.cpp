#include "tests/executor/lower/trained.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/executor/lower/peak.h"
#include "tests/support/graph_text.h"
#include "tests/support/hand_trained.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

// `{n}` is the number of elements, `{g1}` and `{g2}` are the gradients that the updates read.
constexpr std::string_view kForwardAndBackward = R"(
  h = Mul (x, w1)
  y = Mul (h, w2)
  dh = Mul (y, w2)
  dw2 = Mul (y, h)
  dw1 = Mul (dh, x)
)";
constexpr std::string_view kAccumulation = R"(
  sum2_next = Add (sum2, dw2)
  sum1_next = Add (sum1, dw1)
)";
constexpr std::string_view kUpdates = R"(
  kept1 = Mul <__execution_context = 1> (m1, keep)
  m1_next = Add <__execution_context = 1> (kept1, {g1})
  step1 = Mul <__execution_context = 1> (rate, m1_next)
  w1_next = Sub <__execution_context = 1> (w1, step1)
  kept2 = Mul <__execution_context = 1> (m2, keep)
  m2_next = Add <__execution_context = 1> (kept2, {g2})
  squares = Mul <__execution_context = 1> ({g2}, {g2})
  kept3 = Mul <__execution_context = 1> (v2, keep)
  v2_next = Add <__execution_context = 1> (kept3, squares)
  root = Sqrt <__execution_context = 1> (v2_next)
  above = Add <__execution_context = 1> (root, little)
  direction = Div <__execution_context = 1> (m2_next, above)
)";
constexpr std::string_view kAdam = R"(
  step2 = Mul <__execution_context = 1> (rate, direction)
  w2_next = Sub <__execution_context = 1> (w2, step2)
)";
constexpr std::string_view kLamb = R"(
  weight_square = ReduceSumSquare <__execution_context = 1, keepdims = 0> (w2)
  weight_norm = Sqrt <__execution_context = 1> (weight_square)
  step_square = ReduceSumSquare <__execution_context = 1, keepdims = 0> (direction)
  step_norm = Sqrt <__execution_context = 1> (step_square)
  ratio = Div <__execution_context = 1> (weight_norm, step_norm)
  scaled = Mul <__execution_context = 1> (ratio, direction)
  step2 = Mul <__execution_context = 1> (rate, scaled)
  w2_next = Sub <__execution_context = 1> (w2, step2)
)";

ir::Tensor counting(int count, float first, float step) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = first + step * static_cast<float>(i);
  return tensor<float>({count}, numbers);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t i = 0; (i = text.find(what, i)) != std::string::npos; i += by.size())
    text.replace(i, what.size(), by);
  return text;
}

// Numbers that differ between runs, micro-batches and replicas.
ir::Tensor data_of_run(const executor::HostTensor& input, int replicas, int run) {
  std::int64_t count = input.type.element_count() * input.micro_batches;
  if (!input.broadcast) count *= replicas;
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = 0.1F * static_cast<float>((7 * i + 3 * static_cast<std::size_t>(run)) % 11) - 0.45F;
  }
  return tensor<float>({count}, numbers);
}

}  // namespace

ir::Training two_layers(const TwoLayers& sketch) {
  std::string text =
      "g ({t} x, {t} w1, {t} w2, {t} m1, {t} m2, {t} v2, {sums_in}float rate) => "
      "({t} y, {t} w1_next, {t} w2_next, {t} m1_next, {t} m2_next, {t} v2_next{sums_out}) "
      "<float keep = {0.75}, float little = {0.01}{zero}> {";
  text += kForwardAndBackward;
  if (sketch.accumulates) text += kAccumulation;
  text += kUpdates;
  text += sketch.lamb ? kLamb : kAdam;
  text += "}";
  std::string zeros = "0";
  for (int i = 1; i < sketch.elements; ++i) zeros += ", 0";
  text = replaced(text, "{sums_in}", sketch.accumulates ? "{t} sum1, {t} sum2, " : "");
  text = replaced(text, "{sums_out}",
                  sketch.accumulates ? ", {t} sum1_next, {t} sum2_next, {t} zero, {t} zero_too" : "");
  text = replaced(text, "{zero}",
                  sketch.accumulates ? ", {t} zero = {" + zeros + "}, {t} zero_too = {" + zeros + "}" : "");
  text = replaced(text, "{g1}", sketch.accumulates ? "sum1" : "dw1");
  text = replaced(text, "{g2}", sketch.accumulates ? "sum2" : "dw2");
  text = replaced(text, "{t}", fmt::format("float[{}]", sketch.elements));
  const ir::Tensor zero = counting(sketch.elements, 0, 0);
  HandTrained training{.graph = graph_of(text)};
  training.variables = {{"w1", ir::VariableKind::Weight, counting(sketch.elements, 1, 0.25F)},
                        {"w2", ir::VariableKind::Weight, counting(sketch.elements, -1, 0.3F)},
                        {"m1", ir::VariableKind::OptimizerState, zero, "w1"},
                        {"m2", ir::VariableKind::OptimizerState, zero, "w2"},
                        {"v2", ir::VariableKind::OptimizerState, zero, "w2"}};
  training.updates = {{"w1", 1, true}, {"w2", 2, true}, {"m1", 3, true}, {"m2", 4, true}, {"v2", 5, true}};
  training.reduced = {"dw1", "dw2"};
  training.hyper_parameters = {"rate"};
  if (sketch.accumulates) {
    training.variables.push_back({"sum1", ir::VariableKind::Accumulator, zero, "w1"});
    training.variables.push_back({"sum2", ir::VariableKind::Accumulator, zero, "w2"});
    training.updates.insert(training.updates.end(),
                            {{"sum1", 6, false}, {"sum2", 7, false}, {"sum1", 8, true}, {"sum2", 9, true}});
    training.reduced = {"sum1", "sum2"};
  }
  return as_training(std::move(training));
}

ir::Placement on_one_processor(const ir::Training& training) {
  return {.ops = std::vector<ir::OpPlacement>(training.graph.ops.size())};
}

ir::Placement on_two_processors(const ir::Training& training) {
  ir::Placement placement = on_one_processor(training);
  placement.processors = 2;
  placement.stages = placement.phases = 3;
  for (std::size_t i = 0; i < placement.ops.size(); ++i) {
    const ir::Op& op = training.graph.ops[i];
    const std::string& name = training.graph[op.outputs[0]].name;
    const bool first = name == "h" || name == "dw1" || name.find('1') != std::string::npos;
    const int stage = name == "h" ? 0 : first ? 2 : 1;
    placement.ops[i] = {.processor = stage % 2, .stage = stage, .phase = stage};
  }
  return placement;
}

TrainedState train(const executor::Program& program, int runs) {
  TrainedState trained;
  numeric::Engine engine(program, {.threads = 1});
  for (int run = 0; run < runs; ++run) {
    std::vector<ir::Datum> inputs;
    for (const executor::HostTensor& input : program.inputs) {
      inputs.push_back(input.name == "rate" ? ir::Tensor::scalar(0.05F * static_cast<float>(run + 1))
                                            : data_of_run(input, program.replicas, run));
    }
    trained.y = values<float>(engine.run(inputs)[0]);
  }
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    if (!program.buffers[b].persistent) continue;
    for (int i = 0; i < program.buffers[b].slots; ++i) {
      const executor::Slot slot{{static_cast<std::int32_t>(b)}, i};
      trained.state[name_of(program, slot)] = values<float>(engine.contents(slot));
    }
  }
  for (int i = 0; i < program.processors; ++i) trained.peaks.push_back(engine.peak_bytes(i));
  expect_the_simulators_peak(program, engine);
  return trained;
}

TrainedState train(const ir::Training& training, const ir::Placement& placement, const Strategy& strategy,
                   int runs) {
  return train(lower::lower(training, placement, strategy), runs);
}

}  // namespace podium::testing
