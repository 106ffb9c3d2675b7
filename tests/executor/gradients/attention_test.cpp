// Gradients of Attention and its relatives against central differences.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/gradients.h"
#include "tests/support/run_text.h"

namespace podium {
namespace {

using testing::expect_gradients_of_differences;
using testing::numbers;
using testing::tensor;
using testing::Tensors;

// Two sequences, four heads of Q and two of K and V; heads of 3 and 2 elements; 3 rows, 4 positions.
struct AttentionCase {
  std::string attributes = "is_causal = 0";
  ir::Tensor mask = {};
  bool past = false;
  bool lengths = false;
  std::string result = "y";
};

void expect_attention_gradients(const AttentionCase& of) {
  Tensors inputs{numbers({2, 4, 3, 3}), numbers({2, 2, 4, 3}, 1), numbers({2, 2, 4, 2}, 2)};
  std::string declared = "double[] q, double[] k, double[] v";
  std::string names = "q, k, v";
  const auto add = [&](bool is_there, const std::string& name, const std::string& type,
                       const ir::Tensor& value) {
    names += is_there ? ", " + name : ", ";
    if (!is_there) return;
    declared += ", " + type + "[] " + name;
    inputs.emplace_back(value);
  };
  const bool is_bool = of.mask.defined() && of.mask.type() == ir::DataType::Bool;
  add(of.mask.defined(), "m", is_bool ? "bool" : "double", of.mask);
  add(of.past, "pk", "double", numbers({2, 2, 2, 3}, 3));
  add(of.past, "pv", "double", numbers({2, 2, 2, 2}, 4));
  add(of.lengths, "l", "int64", tensor<std::int64_t>({2}, {3, 4}));
  expect_gradients_of_differences(
      "g (" + declared + ") => (double[] out) { a, b, c, d = Attention <" + of.attributes + "> (" + names +
          ") y = Identity (a) k1 = Mul (b, b) k2 = Mul (c, c) w = Mul (d, d) out = Identity (" + of.result +
          ") }",
      inputs);
}

TEST(GradientsOfAttention, WithItsAttributes) {
  for (const char* attributes :
       {"is_causal = 0", "is_causal = 1", "scale = 0.7", "softcap = 1.5", "left_window_size = 1",
        "right_window_size = 0", "is_causal = 1, left_window_size = 0, softcap = 2.0"}) {
    expect_attention_gradients({.attributes = attributes});
  }
}

TEST(GradientsOfAttention, WithMasks) {
  expect_attention_gradients({.mask = numbers({3, 4}, 5)});
  expect_attention_gradients({.mask = numbers({2, 1, 3, 4}, 5)});
  expect_attention_gradients({.attributes = "is_causal = 1", .mask = numbers({4, 3, 2}, 5)});
  expect_attention_gradients({.mask = tensor<bool>({3, 4}, {true, false, true, true, false, false, false,
                                                            false, true, true, true, false})});
  expect_attention_gradients({.mask = tensor<bool>({1, 3}, {true, false, true})});
}

TEST(GradientsOfAttention, WithAPastAndWithPaddedKeys) {
  expect_attention_gradients({.past = true});
  expect_attention_gradients({.attributes = "is_causal = 1", .mask = numbers({3, 6}, 5), .past = true});
  expect_attention_gradients({.lengths = true});
  expect_attention_gradients({.attributes = "is_causal = 1", .lengths = true});
}

TEST(GradientsOfAttention, OfItsOtherOutputs) {
  expect_attention_gradients({.past = true, .result = "k1"});
  expect_attention_gradients({.past = true, .result = "k2"});
  for (const int mode : {0, 1, 2, 3}) {
    expect_attention_gradients({.attributes = fmt::format("softcap = 1.5, qk_matmul_output_mode = {}", mode),
                                .mask = numbers({3, 4}, 5),
                                .result = "w"});
  }
}

TEST(GradientsOfAttention, OfFlatTensors) {
  expect_gradients_of_differences(
      "g (double[] q, double[] k, double[] v) => (double[] y) { y = Attention <q_num_heads = 4, kv_num_heads = 2, is_causal = 1> (q, k, v) }",
      {numbers({2, 3, 12}), numbers({2, 4, 6}, 1), numbers({2, 4, 4}, 2)});
}

// Two heads of Q share one of K and V. A captured matrix is added to the scores, where one is hidden; a
// captured number scales the probabilities.
TEST(GradientsOfFlexAttention, OfWhatItsBodiesCapture) {
  expect_gradients_of_differences(
      "g (double[A,B,C,D] q, double[A,E,F,D] k, double[A,E,F,G] v, double[C,F] b, double s, bool[C,F] h) => (double[A,B,C,G] y) {"
      " y = ai.onnx.preview.FlexAttention <scale = 0.3, score_mod = m (double[A,B,C,F] i) => (double[A,B,C,F] o) {"
      " w = Mul (i, i) u = Add (w, b) z = Constant <value = double {0.0}> () n = Log (z) o = Where (h, u, n) },"
      " prob_mod = p (double[A,B,C,F] i) => (double[A,B,C,F] o) { o = Mul (i, s) }> (q, k, v) }",
      {numbers({2, 2, 3, 2}), numbers({2, 1, 4, 2}, 1), numbers({2, 1, 4, 3}, 2), numbers({3, 4}, 3),
       numbers({}, 4),
       tensor<bool>({3, 4}, {true, true, false, true, true, true, true, true, false, false, false, true})});
}

TEST(GradientsOfRotaryEmbedding, WithItsAttributes) {
  const ir::Tensor places = tensor<std::int64_t>({2, 3}, {0, 1, 2, 3, 1, 0});
  for (const char* attributes : {"interleaved = 0", "interleaved = 1", "rotary_embedding_dim = 4",
                                 "interleaved = 1, rotary_embedding_dim = 2"}) {
    const std::string op = std::string(" y = RotaryEmbedding <num_heads = 2, ") + attributes + "> (x, c, s";
    for (const ir::Dims& x : {ir::Dims{2, 2, 3, 6}, ir::Dims{2, 3, 12}}) {
      expect_gradients_of_differences("g (double[] x, double[] c, double[] s) => (double[] y) {" + op + ") }",
                                      {numbers(x), numbers({2, 3, 3}, 1), numbers({2, 3, 3}, 2)});
      expect_gradients_of_differences(
          "g (double[] x, double[] c, double[] s, int64[] p) => (double[] y) {" + op + ", p) }",
          {numbers(x), numbers({4, 3}, 1), numbers({4, 3}, 2), places});
    }
  }
}

// Four heads of queries, two of keys and values, three steps.
TEST(GradientsOfLinearAttention, WithEveryRule) {
  for (const bool state : {false, true}) {
    for (const char* rule : {"linear", "gated", "delta", "gated_delta"}) {
      for (const bool narrow : {false, true}) {
        const bool decays = std::string(rule).starts_with("gated");
        const bool corrects = std::string(rule).ends_with("delta");
        std::string declared = "double[] q, double[] k, double[] v";
        std::string names = "q, k, v";
        Tensors inputs{numbers({2, 3, 8}), numbers({2, 3, 4}, 1), numbers({2, 3, 6}, 2)};
        const auto add = [&](bool is_there, const std::string& name, const ir::Tensor& value) {
          names += is_there ? ", " + name : ", ";
          if (!is_there) return;
          declared += ", double[] " + name;
          inputs.emplace_back(value);
        };
        add(state, "s", numbers({2, 2, 2, 3}, 3));
        add(decays, "d", narrow ? numbers({2, 3, 2}, 4) : numbers({2, 3, 4}, 4));
        add(corrects, "b", narrow ? numbers({2, 3, 1}, 5) : numbers({2, 3, 2}, 5));
        add(corrects && !narrow, "e", numbers({2, 3, 4}, 6));
        expect_gradients_of_differences(
            "g (" + declared +
                ") => (double[] y) { o, p = LinearAttention <q_num_heads = 4, kv_num_heads = 2,"
                " update_rule = \"" +
                rule + "\"" + (narrow ? ", scale = 0.7" : "") + "> (" + names +
                ") r = ReduceMean <keepdims = 0> (p) y = Mul (o, r) }",
            inputs);
      }
    }
  }
}

}  // namespace
}  // namespace podium
