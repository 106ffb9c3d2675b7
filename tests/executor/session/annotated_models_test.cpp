// Models run where their annotations say, and give one processor's numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "executor/session/session.h"
#include "tests/support/fusing.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium {
namespace {

constexpr int kAnnotatedBatches = 5;

std::vector<ir::Tensor> run(const std::string& text, Strategy options, std::set<int>& processors) {
  options.batches_per_step = kAnnotatedBatches;
  InferenceSession session(testing::model_of(text), {.threads = 1, .strategy = options});
  for (const executor::Block& block : session.program().blocks) processors.insert(block.processor);
  std::vector<ir::Datum> inputs;
  for (const executor::HostTensor& input : session.inputs()) {
    ir::Dims dims = input.type.dims;
    dims.insert(dims.begin(), kAnnotatedBatches);
    inputs.emplace_back(testing::random_floats(dims, static_cast<int>(inputs.size())));
  }
  std::vector<ir::Tensor> outputs;
  for (const ir::Datum& output : session.run(inputs)) outputs.push_back(output.tensor.clone());
  return outputs;
}

// `processors`: those that compute something.
void expect_same_numbers(const std::string& text, const Strategy& options, const std::set<int>& processors) {
  std::set<int> one;
  std::set<int> used;
  const std::vector<ir::Tensor> expected = run(text, {}, one);
  const std::vector<ir::Tensor> found = run(text, options, used);
  EXPECT_EQ(used, processors);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(identical(found[i], expected[i])) << "output " << i;
}

const char* const kRevisiting = R"(g (float[2,3] x) => (float[2,3] y, float[2,3] b)
  <float[3,3] u = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float[3,3] v = {9, 8, 7, 6, 5, 4, 3, 2, 1}> {
  a = MatMul<__ipu_number=0, __pipeline_stage=0> (x, u)
  b = Tanh<__ipu_number=1, __pipeline_stage=1> (a)
  c = MatMul<__ipu_number=0, __pipeline_stage=2> (b, v)
  y = Add<__ipu_number=2, __pipeline_stage=3> (c, a)
})";

TEST(AnnotatedModels, StagesMayComeBackToAProcessor) {
  expect_same_numbers(kRevisiting, {.virtual_graph_mode = VirtualGraphMode::Manual, .pipelining = true},
                      {0, 1, 2});
}

TEST(AnnotatedModels, WithoutPipeliningTheStagesAreIgnored) {
  expect_same_numbers(kRevisiting, {.virtual_graph_mode = VirtualGraphMode::Manual}, {0, 1, 2});
}

TEST(AnnotatedModels, OffRunsOnOneProcessor) { expect_same_numbers(kRevisiting, {}, {0}); }

TEST(AnnotatedModels, ShapeArithmeticNeedsNoAnnotation) {
  expect_same_numbers(R"(g (float[2,6] x) => (float[4,3] y) <int64[1] three = {3}> {
    shape = Shape (x)
    size = ReduceProd<keepdims=1> (shape)
    rows = Div (size, three)
    wanted = Concat<axis=0> (rows, three)
    a = Sin<virtualGraph=0> (x)
    b = Reshape<virtualGraph=1> (a, wanted)
    y = Neg<virtualGraph=1> (b)
  })",
                      {.virtual_graph_mode = VirtualGraphMode::Manual, .pipelining = true}, {0, 1});
}

TEST(AnnotatedModels, AWeightMayBeOnTwoProcessorsThatAreNoPipeline) {
  expect_same_numbers(R"(g (float[2,3] x) => (float[2,3] y) <float[3] w = {1, 2, 3}> {
    a = Mul<__ipu_number=0> (x, w)
    y = Add<__ipu_number=1> (a, w)
  })",
                      {.virtual_graph_mode = VirtualGraphMode::Manual}, {0, 1});
}

// Neither the input nor the weight leaves room for a cut between their readers.
TEST(AnnotatedModels, APipelineByCostMayReadAnInputAndAWeightOnSeveralProcessors) {
  expect_same_numbers(R"(g (float[2,3] x) => (float[2,3] y) <float[3] w = {1, 2, 3}> {
    a = Mul (x, w)
    b = Tanh (a)
    c = Mul (b, w)
    y = Add (c, x)
  })",
                      {.virtual_graph_mode = VirtualGraphMode::Auto, .ipus = 3, .pipelining = true},
                      {0, 1, 2});
}

const char* const kPhased = R"(g (float[2,3] x) => (float[2,3] y)
  <float[3,3] u = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float[3,3] v = {9, 8, 7, 6, 5, 4, 3, 2, 1}> {
  a = MatMul<__execution_phase=0> (x, u)
  b = Tanh (a)
  c = MatMul<__execution_phase=1> (b, v)
  d = Tanh<__execution_phase=2, __ipu_number=2> (c)
  y = Add<__execution_phase=3> (d, a)
})";

TEST(AnnotatedModels, PhasesTakeTurnsOnTheProcessorsOfTheirParity) {
  Strategy options{.virtual_graph_mode = VirtualGraphMode::ExecutionPhases, .phases = {.phases = 4}};
  options.weights.location.storage = ir::Storage::OffChip;
  expect_same_numbers(kPhased, options, {0, 1, 2});
}

TEST(AnnotatedModels, PhasesWithoutAnnotationShareTheWeights) {
  std::string text = kPhased;
  for (const char* annotation : {"<__execution_phase=0>", "<__execution_phase=1>", "<__execution_phase=3>",
                                 "<__execution_phase=2, __ipu_number=2>"}) {
    text.erase(text.find(annotation), std::string(annotation).size());
  }
  expect_same_numbers(
      text, {.virtual_graph_mode = VirtualGraphMode::ExecutionPhases, .phases = {.phases = 2}}, {0, 1});
}

}  // namespace
}  // namespace podium
