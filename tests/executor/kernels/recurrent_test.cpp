#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "executor/kernels/recurrent_activation.h"
#include "executor/kernels/tools/kernel.h"
#include "executor/kernels/tools/strip_products.h"
#include "ir/builder.h"
#include "tests/support/near.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::Float16;
using ir::Tensor;
using ::testing::ElementsAre;
using testing::expect_near;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using testing::tensor;
using ::testing::ThrowsMessage;
using testing::values;

constexpr std::int64_t kSteps = 3;
constexpr std::int64_t kBatch = 3;
constexpr std::int64_t kInput = 2;
constexpr std::int64_t kHidden = 3;

// Numbers in [-1, 1], different for each seed.
Tensor numbers(ir::Dims dims, int seed) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < ir::element_count(dims); ++i)
    result.push_back(std::sin(0.7 * static_cast<double>(i) + seed));
  return tensor<double>(std::move(dims), result);
}

// Runs a recurrent op on constants; an undefined tensor is an input left out. Gives all three outputs it may
// have.
std::vector<ir::Datum> run(const std::string& op, const std::vector<Tensor>& inputs,
                           std::vector<ir::Attribute> attributes = {}) {
  ir::Graph graph;
  ir::Builder builder(graph);
  std::vector<ir::ValueId> ids;
  std::vector<ir::Datum> data;
  for (const Tensor& input : inputs) {
    ids.push_back(input.defined() ? builder.constant(input) : ir::kNoValue);
    data.push_back(input.defined() ? ir::Datum(input) : ir::Datum());
  }
  builder.ops("", op, ids, op == "LSTM" ? 3 : 2, std::move(attributes));
  return evaluate(graph.ops.back(), data);
}

struct Weights {
  Tensor x, w, r, b, h, c, p;
};

Weights weights(std::int64_t gates, std::int64_t directions = 1, std::int64_t batch = kBatch) {
  return {numbers({kSteps, batch, kInput}, 1),
          numbers({directions, gates * kHidden, kInput}, 2),
          numbers({directions, gates * kHidden, kHidden}, 3),
          numbers({directions, 2 * gates * kHidden}, 4),
          numbers({directions, batch, kHidden}, 5),
          numbers({directions, batch, kHidden}, 6),
          numbers({directions, 3 * kHidden}, 7)};
}

double element_at(const Tensor& tensor, std::int64_t i) { return tensor.data<double>()[i]; }

// Row `row` of W x + R h + both biases, for batch element b element_at step t.
double gate(const Weights& of, std::int64_t gates, std::int64_t row, std::int64_t t, std::int64_t b,
            const double* h) {
  double sum = element_at(of.b, row) + element_at(of.b, gates * kHidden + row);
  for (std::int64_t i = 0; i < kInput; ++i)
    sum += element_at(of.w, row * kInput + i) * element_at(of.x, (t * kBatch + b) * kInput + i);
  for (std::int64_t i = 0; i < kHidden; ++i) sum += element_at(of.r, row * kHidden + i) * h[i];
  return sum;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// ONNX's equations for one direction and batch element; gives h of every step.
std::vector<double> lstm(const Weights& of, std::int64_t b, bool peepholes) {
  std::vector<double> h(of.h.data<double>() + b * kHidden, of.h.data<double>() + (b + 1) * kHidden);
  std::vector<double> c(of.c.data<double>() + b * kHidden, of.c.data<double>() + (b + 1) * kHidden);
  std::vector<double> all;
  for (std::int64_t t = 0; t < kSteps; ++t) {
    const std::vector<double> before = h;
    for (std::int64_t j = 0; j < kHidden; ++j) {
      const auto product = [&](std::int64_t g) { return gate(of, 4, g * kHidden + j, t, b, before.data()); };
      const auto peep = [&](std::int64_t g) { return peepholes ? element_at(of.p, g * kHidden + j) : 0; };
      double& cell = c[j];
      const double input = logistic(product(0) + peep(0) * cell);
      const double forget = logistic(product(2) + peep(2) * cell);
      cell = forget * cell + input * std::tanh(product(3));
      h[j] = logistic(product(1) + peep(1) * cell) * std::tanh(cell);
    }
    all.insert(all.end(), h.begin(), h.end());
  }
  return all;
}

// Y of batch element b, step after step, from [steps, 1, batch, hidden].
std::vector<double> steps_of(const ir::Datum& y, std::int64_t b) {
  std::vector<double> result;
  for (std::int64_t t = 0; t < kSteps; ++t) {
    for (std::int64_t j = 0; j < kHidden; ++j)
      result.push_back(element_at(y.tensor, (t * kBatch + b) * kHidden + j));
  }
  return result;
}

TEST(Lstm, FollowsTheEquationsWithAndWithoutPeepholes) {
  const Weights of = weights(4);
  for (bool peepholes : {false, true}) {
    const auto y = run("LSTM", {of.x, of.w, of.r, of.b, Tensor(), of.h, of.c, peepholes ? of.p : Tensor()});
    for (std::int64_t b = 0; b < kBatch; ++b) expect_near(steps_of(y[0], b), lstm(of, b, peepholes));
  }
}

TEST(Lstm, CouplesForgetToInputAndClips) {
  Weights of = weights(4);
  const auto y = run("LSTM", {of.x, of.w, of.r, of.b, Tensor(), of.h, of.c},
                     {{"input_forget", std::int64_t{1}}, {"clip", 1e-9F}});
  // Nothing gets through: every gate is 1/2, so c halves element_at each step and h is half of tanh of
  // nothing.
  for (std::int64_t i = 0; i < kBatch * kHidden; ++i) {
    EXPECT_NEAR(element_at(y[2].tensor, i), element_at(of.c, i) / 8, 1e-8);
    EXPECT_NEAR(element_at(y[1].tensor, i), 0, 1e-8);
  }
}

TEST(Lstm, GivesTheSameInBatchFirstLayout) {
  const Weights of = weights(4, 2);
  const auto transposed = [](const Tensor& from, std::int64_t rows, std::int64_t columns) {
    Tensor to = from.clone();
    const std::int64_t inner = from.size() / rows / columns;
    for (std::int64_t i = 0; i < from.size(); ++i) {
      const std::int64_t row = i / inner / columns;
      to.data<double>()[((i / inner % columns) * rows + row) * inner + i % inner] = element_at(from, i);
    }
    return to;
  };
  const ir::Attribute both{"direction", std::string("bidirectional")};
  const auto y = run("LSTM", {of.x, of.w, of.r, of.b, Tensor(), of.h, of.c}, {both});
  const auto z = run("LSTM",
                     {transposed(of.x, kSteps, kBatch).reshaped({kBatch, kSteps, kInput}), of.w, of.r, of.b,
                      Tensor(), transposed(of.h, 2, kBatch).reshaped({kBatch, 2, kHidden}),
                      transposed(of.c, 2, kBatch).reshaped({kBatch, 2, kHidden})},
                     {both, {"layout", std::int64_t{1}}});
  EXPECT_EQ(z[0].tensor.dims(), (ir::Dims{kBatch, kSteps, 2, kHidden}));
  // [steps, 2, batch, hidden] to [batch, steps, 2, hidden]
  const Tensor y_first = transposed(y[0].tensor, kSteps * 2, kBatch);
  expect_near(values<double>(z[0]), values<double>(y_first));
  expect_near(values<double>(z[2]), values<double>(transposed(y[2].tensor, 2, kBatch)));
}

TEST(Lstm, ReverseIsForwardOnTheSequenceReversed) {
  Weights of = weights(4);
  const auto y = run("LSTM", {of.x, of.w, of.r, of.b}, {{"direction", std::string("reverse")}});
  Tensor reversed = of.x.clone();
  const std::int64_t row = kBatch * kInput;
  for (std::int64_t i = 0; i < of.x.size(); ++i) {
    reversed.data<double>()[(kSteps - 1 - i / row) * row + i % row] = element_at(of.x, i);
  }
  const auto z = run("LSTM", {reversed, of.w, of.r, of.b});
  expect_near(values<double>(y[1]), values<double>(z[1]));
  EXPECT_EQ(element_at(y[0].tensor, 0), element_at(z[0].tensor, (kSteps - 1) * kBatch * kHidden));
}

TEST(Lstm, StopsEachSequenceAtItsLength) {
  const Weights of = weights(4, 2);
  const Tensor lengths = tensor<std::int32_t>({kBatch}, {2, 3, 1});
  const ir::Attribute both{"direction", std::string("bidirectional")};
  const auto y = run("LSTM", {of.x, of.w, of.r, of.b, lengths, of.h, of.c}, {both});
  // The first sequence alone, cut to two steps.
  std::vector<double> x;
  for (std::int64_t t = 0; t < 2; ++t) {
    for (std::int64_t i = 0; i < kInput; ++i) x.push_back(element_at(of.x, t * kBatch * kInput + i));
  }
  const auto first = [](const Tensor& state) {
    std::vector<double> rows;
    for (std::int64_t d = 0; d < 2; ++d) {
      for (std::int64_t j = 0; j < kHidden; ++j) rows.push_back(element_at(state, d * kBatch * kHidden + j));
    }
    return tensor<double>({2, 1, kHidden}, rows);
  };
  const auto z =
      run("LSTM", {tensor<double>({2, 1, kInput}, x), of.w, of.r, of.b, Tensor(), first(of.h), first(of.c)},
          {both});
  expect_near(values<double>(first(y[1].tensor)), values<double>(z[1]));
  expect_near(values<double>(first(y[2].tensor)), values<double>(z[2]));
  EXPECT_EQ(element_at(y[0].tensor, 2 * 2 * kBatch * kHidden), 0);  // step 2 of the first sequence
  EXPECT_NE(element_at(y[0].tensor, 2 * 2 * kBatch * kHidden + kHidden), 0);
}

std::vector<double> gru(const Weights& of, std::int64_t b, bool linear_before_reset) {
  std::vector<double> h(of.h.data<double>() + b * kHidden, of.h.data<double>() + (b + 1) * kHidden);
  const std::vector<double> none(kHidden, 0);
  std::vector<double> all;
  for (std::int64_t t = 0; t < kSteps; ++t) {
    std::vector<double> scaled = h;
    std::vector<double> resets;
    for (std::int64_t j = 0; j < kHidden; ++j) {
      resets.push_back(logistic(gate(of, 3, kHidden + j, t, b, h.data())));
      scaled[j] *= resets.back();
    }
    std::vector<double> next;
    for (std::int64_t j = 0; j < kHidden; ++j) {
      const std::int64_t row = 2 * kHidden + j;
      const double z = logistic(gate(of, 3, j, t, b, h.data()));
      const double of_x = gate(of, 3, row, t, b, none.data()) - element_at(of.b, 3 * kHidden + row);
      const double of_h = gate(of, 3, row, t, b, h.data()) - of_x;
      const double candidate =
          linear_before_reset ? of_x + resets[j] * of_h : gate(of, 3, row, t, b, scaled.data());
      next.push_back((1 - z) * std::tanh(candidate) + z * h[j]);
    }
    h = next;
    all.insert(all.end(), h.begin(), h.end());
  }
  return all;
}

TEST(Gru, ResetsBeforeOrAfterTheProduct) {
  const Weights of = weights(3);
  for (bool after : {false, true}) {
    const auto y = run("GRU", {of.x, of.w, of.r, of.b, Tensor(), of.h},
                       {{"linear_before_reset", std::int64_t{after ? 1 : 0}}});
    for (std::int64_t b = 0; b < kBatch; ++b) expect_near(steps_of(y[0], b), gru(of, b, after));
  }
}

Tensor as_floats(const Tensor& from) {
  return tensor<float>(from.dims(), {from.data<double>(), from.data<double>() + from.size()});
}

// Weights known beforehand are packed for floats, for oneDNN where there are many sequences; in double the
// equations above do.
void expect_packed_agrees(const std::string& op, const Weights& of, bool initial,
                          std::vector<ir::Attribute> attributes) {
  std::vector<Tensor> wide{of.x, of.w, of.r, of.b, Tensor()};
  if (initial) wide.push_back(of.h);
  if (initial && op == "LSTM") wide.push_back(of.c);
  std::vector<Tensor> narrow;
  for (const Tensor& input : wide) narrow.push_back(input.defined() ? as_floats(input) : Tensor());
  const auto expected = run(op, wide, attributes);
  const auto found = run(op, narrow, attributes);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(found[i].tensor.dims(), expected[i].tensor.dims());
    for (std::int64_t j = 0; j < expected[i].tensor.size(); ++j) {
      EXPECT_NEAR(found[i].tensor.data<float>()[j], element_at(expected[i].tensor, j), 1e-5)
          << op << " " << i << " " << j;
    }
  }
}

TEST(Gru, OfNoSamplesTakesNoTimeHoweverLongTheyAre) {
  const std::string text =
      "g (float[4294967296,0,2] x, float[1,15,2] w, float[1,15,5] r) => (float[] y)"
      " { y = GRU <hidden_size = 5> (x, w, r) }";
  const auto y = testing::run_text(text, {ir::Tensor(ir::DataType::Float, {4294967296, 0, 2}),
                                          testing::tensor<float>({1, 15, 2}, std::vector<float>(30)),
                                          testing::tensor<float>({1, 15, 5}, std::vector<float>(75))});
  EXPECT_EQ(y[0].tensor.dims(), (ir::Dims{4294967296, 1, 0, 5}));
}

TEST(PackedRecurrence, AgreesInEveryDirectionAndForm) {
  for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
    const std::int64_t ways = direction == "bidirectional" ? 2 : 1;
    for (const std::int64_t batch : {kBatch, kMostStripRows + 2}) {
      for (bool initial : {false, true}) {
        const ir::Attribute way{"direction", direction};
        const ir::Attribute after{"linear_before_reset", std::int64_t{1}};
        expect_packed_agrees("RNN", weights(1, ways, batch), initial, {way});
        expect_packed_agrees("LSTM", weights(4, ways, batch), initial, {way});
        expect_packed_agrees("GRU", weights(3, ways, batch), initial, {way});
        expect_packed_agrees("GRU", weights(3, ways, batch), initial, {way, after});
      }
    }
  }
}

// Sequence `b` of numbers that have the axis of sequences second.
Tensor sequence(const Tensor& all, std::int64_t b) {
  ir::Dims dims = all.dims();
  const std::int64_t size = ir::element_count(dims) / dims[0] / dims[1];
  std::vector<double> result;
  for (std::int64_t t = 0; t < dims[0]; ++t) {
    const double* row = all.data<double>() + (t * dims[1] + b) * size;
    result.insert(result.end(), row, row + size);
  }
  dims[1] = 1;
  return tensor<double>(dims, result);
}

TEST(Recurrence, OfManySequencesIsThatOfEach) {
  const Tensor x = numbers({9, kBatch, kInput}, 1);
  const ir::Attribute both{"direction", std::string("bidirectional")};
  const ir::Attribute after{"linear_before_reset", std::int64_t{1}};
  const auto expect_same = [&](const std::string& op, std::int64_t gates,
                               std::vector<ir::Attribute> attributes) {
    const Weights of = weights(gates, 2);
    const Tensor all = run(op, {x, of.w, of.r, of.b, Tensor(), of.h}, attributes)[0].tensor;
    for (std::int64_t b = 0; b < kBatch; ++b) {
      const std::vector<Tensor> alone{sequence(x, b), of.w, of.r, of.b, Tensor(), sequence(of.h, b)};
      const Tensor expected = run(op, alone, attributes)[0].tensor;
      for (std::int64_t i = 0; i < expected.size(); ++i) {
        const std::int64_t row = i / kHidden * kBatch + b;
        EXPECT_NEAR(element_at(all, row * kHidden + i % kHidden), element_at(expected, i), 1e-12) << op;
      }
    }
  };
  expect_same("RNN", 1, {both});
  expect_same("LSTM", 4, {both});
  expect_same("GRU", 3, {both});
  expect_same("GRU", 3, {both, after});
}

TEST(Rnn, TakesAnyActivationInHalves) {
  const Tensor x = tensor<Float16>({1, 1, 1}, {Float16(3)});
  const Tensor w = tensor<Float16>({1, 1, 1}, {Float16(-2)});
  const Tensor r = tensor<Float16>({1, 1, 1}, {Float16(1)});
  const auto y =
      run("RNN", {x, w, r},
          {{"activations", ir::StringList{"LeakyRelu"}}, {"activation_alpha", ir::FloatList{0.5F}}});
  EXPECT_EQ(static_cast<float>(values<Float16>(y[0])[0]), -3);
}

TEST(Rnn, RefusesWhatDoesNotFit) {
  const Weights of = weights(1);
  EXPECT_THAT(
      [&] {
        run("RNN", {of.x, of.w, of.r}, {{"activations", ir::StringList{"Tan"}}});
      },
      ThrowsMessage<Error>(HasSubstr("no activation function 'Tan'")));
  EXPECT_THAT(
      [&] {
        run("RNN", {of.x, of.r, of.r});
      },
      ThrowsMessage<Error>(HasSubstr("W is [1,3,3], [1,3,2] needed")));
  EXPECT_THAT(
      [&] {
        run("RNN", {of.x, of.w, of.r, Tensor(), tensor<std::int32_t>({kBatch}, {1, 4, 1})});
      },
      ThrowsMessage<Error>(HasSubstr("sequence_lens has 4, 0 to 3 needed")));
}

std::vector<double> activated(const std::string& name, const ir::FloatList& alpha = {},
                              const ir::FloatList& beta = {}) {
  std::vector<double> x{-2, 0, 0.5, 3};
  activate(read_activations({name}, alpha, beta)[0], 0, x.data(), 4);
  return x;
}

TEST(Activations, HaveOnnxsDefaultsAndParameters) {
  expect_near(activated("Relu"), {0, 0, 0.5, 3});
  expect_near(activated("Affine", {2}, {1}), {-3, 1, 2, 7});
  expect_near(activated("ThresholdedRelu"), {0, 0, 0, 3});
  expect_near(activated("ScaledTanh", {2}, {0.5F}),
              {2 * std::tanh(-1), 0, 2 * std::tanh(0.25), 2 * std::tanh(1.5)});
  expect_near(activated("Elu"), {std::expm1(-2), 0, 0.5, 3});
  expect_near(activated("softsign"), {-2.0 / 3, 0, 1.0 / 3, 0.75});
  expect_near(activated("Softplus"),
              {std::log1p(std::exp(-2)), std::log(2), std::log1p(std::exp(0.5)), std::log1p(std::exp(3))});
  const std::vector<double> hard = activated("HardSigmoid");
  EXPECT_NEAR(hard[0], 0.1, 1e-7);
  EXPECT_EQ(hard[3], 1);
}

TEST(Activations, ConsumeParametersInOrder) {
  const auto both = read_activations({"Sigmoid", "LeakyRelu", "Elu"}, {0.25F, 4}, {});
  EXPECT_EQ(both[1].alpha, 0.25);
  EXPECT_EQ(both[2].alpha, 4);
}

}  // namespace
}  // namespace podium::kernels
