// Attention of com.microsoft against sums over heads and positions, worked out one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importer/import.h"
#include "tests/importer/by_hand.h"
#include "tests/support/refusal.h"

namespace podium {
namespace {

using ir::Datum;
using ir::Tensor;
using testing::attention_by_hand;
using testing::AttentionByHand;
using testing::columns_by_hand;
using testing::doubles;
using testing::Doubles;
using testing::expect_gradients_of_differences;
using testing::expect_near;
using testing::followed_by;
using ::testing::HasSubstr;
using testing::HeadsByHand;
using testing::kHidden;
using testing::numbers;
using testing::product_by_hand;
using testing::run_text;
using testing::sum_of;
using testing::tensor;

// Two sequences of three positions, two heads of two elements.
class ContributedAttention : public ::testing::Test {
 protected:
  const Tensor x_ = numbers({2, 3, 4});
  const Tensor w_ = numbers({4, 12}, 1);
  const Tensor b_ = numbers({12}, 2);
  const Doubles qkv_ = sum_of(product_by_hand(doubles(x_), doubles(w_), 4), doubles(b_));

  static HeadsByHand heads(const Doubles& flat, std::size_t length = 3) {
    return {2, length, 2, flat.size() / 4 / length, flat};
  }
  HeadsByHand part(std::size_t i) const { return heads(columns_by_hand(qkv_, 12, 4 * i, 4 * i + 4)); }
  Doubles wanted(const testing::BiasByHand& bias) const {
    return attention_by_hand(part(0), part(1), part(2), {.bias = bias});
  }

  // The op with a fourth input.
  void expect_masked(const std::string& type, const Datum& mask, const testing::BiasByHand& bias,
                     const std::string& more = "") const {
    const std::string text = "g (double[2,3,4] x, double[4,12] w, double[12] b, " + type +
                             " m) => (double[] y) { y = com.microsoft.Attention <num_heads = 2" + more +
                             "> (x, w, b, m) }";
    expect_near(doubles(run_text(text, {x_, w_, b_, mask})[0]), wanted(bias));
  }
};

TEST_F(ContributedAttention, ProjectsAndAttends) {
  const std::string text =
      "g (double[2,3,4] x, double[4,12] w, double[12] b) => (double[] y) "
      "{ y = com.microsoft.Attention <num_heads = 2> (x, w, b) }";
  expect_near(doubles(run_text(text, {x_, w_, b_})[0]), wanted([](auto...) { return 0.0; }));
  expect_gradients_of_differences(text, {x_, w_, b_});
}

TEST_F(ContributedAttention, SeesOnlyWhatWasBeforeWhenUnidirectional) {
  const std::string text =
      "g (double[2,3,4] x, double[4,12] w, double[12] b) => (double[] y) "
      "{ y = com.microsoft.Attention <num_heads = 2, unidirectional = 1, scale = 0.5> (x, w, b) }";
  const Doubles causal = attention_by_hand(
      part(0), part(1), part(2),
      {.scale = 0.5, .bias = [](auto, auto, auto i, auto j) { return j > i ? kHidden : 0.0; }});
  expect_near(doubles(run_text(text, {x_, w_, b_})[0]), causal);
  expect_gradients_of_differences(text, {x_, w_, b_});
}

TEST_F(ContributedAttention, TakesMasksOfEveryRank) {
  const std::vector<std::size_t> ends{2, 3};
  const std::vector<std::size_t> starts{0, 1};
  expect_masked("int32[2]", tensor<std::int32_t>({2}, {2, 3}),
                [&](auto b, auto, auto, auto j) { return j < ends[b] ? 0.0 : -10000.0; });
  expect_masked("int32[4]", tensor<std::int32_t>({4}, {2, 3, 0, 1}),
                [&](auto b, auto, auto, auto j) { return j < ends[b] && j >= starts[b] ? 0.0 : -10000.0; });
  const std::vector<std::int32_t> table{1, 1, 0, 0, 1, 1};
  expect_masked("int32[2,3]", tensor<std::int32_t>({2, 3}, table),
                [&](auto b, auto, auto, auto j) { return table[b * 3 + j] != 0 ? 0.0 : -10000.0; });
  const std::vector<std::int32_t> cube{1, 0, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0};
  // A filter that only makes weights smaller shows that it is the attribute's.
  expect_masked(
      "int32[2,3,3]", tensor<std::int32_t>({2, 3, 3}, cube),
      [&](auto b, auto, auto i, auto j) { return cube[(b * 3 + i) * 3 + j] != 0 ? 0.0 : -1.5; },
      ", mask_filter_value = -1.5");
  std::vector<std::int32_t> megatron(2 * 4 * 4, 1);
  megatron[4 * 1 + 0] = 0;  // of sequence 0, row 1 does not see position 0
  expect_masked("int32[2,1,4,4]", tensor<std::int32_t>({2, 1, 4, 4}, megatron),
                [](auto b, auto, auto i, auto j) { return b == 0 && i == 1 && j == 0 ? -10000.0 : 0.0; });
}

TEST_F(ContributedAttention, HasAPastABiasAndSizesOfItsOwnForV) {
  const std::string text =
      "g (double[2,3,4] x, double[4,10] w, double[1,2,3,3] a) => (double[] y) "
      "{ y = com.microsoft.Attention <num_heads = 2, qkv_hidden_sizes = [4, 4, 2]> (x, w, , , , a) }";
  const Tensor w = numbers({4, 10}, 1);
  const Tensor added = numbers({1, 2, 3, 3}, 3);
  const Doubles qkv = product_by_hand(doubles(x_), doubles(w), 4);
  const Doubles out = attention_by_hand(
      heads(columns_by_hand(qkv, 10, 0, 4)), heads(columns_by_hand(qkv, 10, 4, 8)),
      heads(columns_by_hand(qkv, 10, 8, 10)),
      {.bias = [&](auto, auto h, auto i, auto j) { return doubles(added)[(h * 3 + i) * 3 + j]; }});
  expect_near(doubles(run_text(text, {x_, w, added})[0]), out);
  expect_gradients_of_differences(text, {x_, w, added});
}

TEST_F(ContributedAttention, PutsItsKeysAndValuesBehindThoseOfThePast) {
  const std::string text =
      "g (double[2,3,4] x, double[4,12] w, double[12] b, double[2,2,2,2,2] p) => (double[] y, double[] q) "
      "{ y, q = com.microsoft.Attention <num_heads = 2, unidirectional = 1> (x, w, b, , p) }";
  const Tensor past = numbers({2, 2, 2, 2, 2}, 4);
  const Doubles all = doubles(past);
  const auto before = [&](std::ptrdiff_t i) {
    return HeadsByHand::from_heads_first(2, 2, 2, 2, {all.begin() + 16 * i, all.begin() + 16 * (i + 1)});
  };
  const HeadsByHand k = followed_by(before(0), part(1));
  const HeadsByHand v = followed_by(before(1), part(2));
  const auto out = run_text(text, {x_, w_, b_, past});
  expect_near(doubles(out[0]), attention_by_hand(part(0), k, v, {.bias = [](auto, auto, auto i, auto j) {
                                                   return j > i + 2 ? kHidden : 0.0;
                                                 }}));
  Doubles present = k.heads_first();
  const Doubles values = v.heads_first();
  present.insert(present.end(), values.begin(), values.end());
  expect_near(doubles(out[1]), present);
  expect_gradients_of_differences(text, {x_, w_, b_, past});
}

TEST_F(ContributedAttention, RefusesWhatOnlyOneMachineDoes) {
  const auto refusal_of = [](const std::string& attributes) {
    return testing::refusal([&] {
      importer::import_text(
          testing::model_text("g (float[2,3,4] x, float[4,12] w) => (float[] y) "
                              "{ y = com.microsoft.Attention <" +
                              attributes + "> (x, w) }"));
    });
  };
  EXPECT_THAT(refusal_of("num_heads = 2, do_rotary = 1"),
              HasSubstr("do_rotary is set, which is not supported"));
  EXPECT_THAT(refusal_of("unidirectional = 1"), HasSubstr("attribute 'num_heads' is missing"));
  EXPECT_EQ(refusal_of("num_heads = 2"), "");
}

// The same numbers as Q, K and V of their own.
class MultiHead : public ContributedAttention {
 protected:
  const Tensor q_ = numbers({2, 3, 4}, 5);
  const Tensor k_ = numbers({2, 2, 4}, 6);
  const Tensor v_ = numbers({2, 2, 4}, 7);
};

TEST_F(MultiHead, AttendsAcrossSequencesWithABias) {
  const std::string text =
      "g (double[2,3,4] q, double[2,2,4] k, double[2,2,4] v, double[12] b, int32[2,2] m, double[2,1,3,2] a) => "
      "(double[] y) { y = com.microsoft.MultiHeadAttention <num_heads = 2, scale = 0.75> (q, k, v, b, m, a) }";
  const Tensor added = numbers({2, 1, 3, 2}, 8);
  const Doubles b = doubles(b_);
  const auto shifted = [&](const Tensor& x, std::ptrdiff_t i, std::size_t length) {
    return heads(sum_of(doubles(x), {b.begin() + 4 * i, b.begin() + 4 * (i + 1)}), length);
  };
  const std::vector<Datum> inputs{q_, k_, v_, b_, tensor<std::int32_t>({2, 2}, {1, 1, 0, 1}), added};
  const Doubles wanted =
      attention_by_hand(shifted(q_, 0, 3), shifted(k_, 1, 2), shifted(v_, 2, 2),
                        {.scale = 0.75, .bias = [&](auto s, auto, auto i, auto j) {
                           return doubles(added)[(s * 3 + i) * 2 + j] + (s == 1 && j == 0 ? -10000.0 : 0.0);
                         }});
  expect_near(doubles(run_text(text, inputs)[0]), wanted, 1e-9);
  expect_gradients_of_differences(text, inputs);
}

TEST_F(MultiHead, GivesThePresentAndItsScores) {
  const std::string text =
      "g (double[2,3,4] q, double[2,2,4] k, double[2,2,4] v, double[2,2,1,2] pk, double[2,2,1,2] pv) => "
      "(double[] y, double[] k2, double[] v2, double[] s) "
      "{ y, k2, v2, s = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v, , , , pk, pv) }";
  const Tensor past_k = numbers({2, 2, 1, 2}, 1);
  const Tensor past_v = numbers({2, 2, 1, 2}, 2);
  const HeadsByHand k =
      followed_by(HeadsByHand::from_heads_first(2, 1, 2, 2, doubles(past_k)), heads(doubles(k_), 2));
  const HeadsByHand v =
      followed_by(HeadsByHand::from_heads_first(2, 1, 2, 2, doubles(past_v)), heads(doubles(v_), 2));
  const auto out = run_text(text, {q_, k_, v_, past_k, past_v});
  expect_near(doubles(out[0]), attention_by_hand(heads(doubles(q_)), k, v));
  expect_near(doubles(out[1]), k.heads_first());
  expect_near(doubles(out[2]), v.heads_first());
  const HeadsByHand q = heads(doubles(q_));
  const double score =
      (q.at(1, 2, 1, 0) * k.at(1, 1, 1, 0) + q.at(1, 2, 1, 1) * k.at(1, 1, 1, 1)) / std::sqrt(2.0);
  EXPECT_NEAR(doubles(out[3])[((1 * 2 + 1) * 3 + 2) * 3 + 1], score, 1e-12);
}

TEST_F(MultiHead, TakesPackedHeads) {
  const Tensor packed = numbers({2, 3, 2, 3, 2});
  const Tensor pair = numbers({2, 2, 2, 2, 2}, 1);
  const auto unpacked = [](const Tensor& all, std::size_t part) {
    const auto parts = static_cast<std::size_t>(all.dim(3));
    HeadsByHand y{2, static_cast<std::size_t>(all.dim(1)), 2, 2, {}};
    const Doubles data = doubles(all);
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (i / 2 % parts == part) y.data.push_back(data[i]);
    }
    return y;
  };
  const std::string self =
      "g (double[2,3,2,3,2] q) => (double[] y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q) }";
  expect_near(doubles(run_text(self, {packed})[0]),
              attention_by_hand(unpacked(packed, 0), unpacked(packed, 1), unpacked(packed, 2)));
  expect_gradients_of_differences(self, {packed});
  const std::string cross =
      "g (double[2,3,4] q, double[2,2,2,2,2] k) => (double[] y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k) }";
  expect_near(doubles(run_text(cross, {q_, pair})[0]),
              attention_by_hand(heads(doubles(q_)), unpacked(pair, 0), unpacked(pair, 1)));
  const std::string cached =
      "g (double[2,3,4] q, double[2,2,2,2] k, double[2,2,2,2] v) => (double[] y) "
      "{ y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v) }";
  const Tensor k = numbers({2, 2, 2, 2}, 2);
  const Tensor v = numbers({2, 2, 2, 2}, 3);
  expect_near(doubles(run_text(cached, {q_, k, v})[0]),
              attention_by_hand(heads(doubles(q_)), HeadsByHand::from_heads_first(2, 2, 2, 2, doubles(k)),
                                HeadsByHand::from_heads_first(2, 2, 2, 2, doubles(v))));
}

// Pairs of elements turned by the angle of a position: the halves of a head, or neighbours.
HeadsByHand turned_by_hand(HeadsByHand x, const Doubles& cosines, const Doubles& sines, std::size_t angles,
                           const std::function<std::size_t(std::size_t b, std::size_t i)>& position,
                           bool interleaved) {
  for (std::size_t b = 0; b < x.batch; ++b) {
    for (std::size_t i = 0; i < x.length; ++i) {
      for (std::size_t h = 0; h < x.heads; ++h) {
        for (std::size_t a = 0; a < angles; ++a) {
          double& first = x.at(b, i, h, interleaved ? 2 * a : a);
          double& second = x.at(b, i, h, interleaved ? 2 * a + 1 : a + angles);
          const double c = cosines[position(b, i) * angles + a];
          const double s = sines[position(b, i) * angles + a];
          const double turned = c * first - s * second;
          second = s * first + c * second;
          first = turned;
        }
      }
    }
  }
  return x;
}

TEST(ContributedRotaryEmbedding, TurnsHeadsByTheirPositions) {
  const Tensor x = numbers({2, 2, 8});
  const Tensor c = numbers({5, 2}, 1);
  const Tensor s = numbers({5, 2}, 2);
  const std::string head = "g (double[2,2,8] x, int64[";
  const std::string tables =
      " p, double[5,2] c, double[5,2] s) => (double[] y) { y = com.microsoft.RotaryEmbedding ";
  for (const bool interleaved : {false, true}) {
    const std::string text =
        head + "2,2]" + tables + "<interleaved = " + (interleaved ? "1" : "0") + "> (x, p, c, s) }";
    const std::vector<std::size_t> places{4, 0, 2, 3};
    const HeadsByHand wanted = turned_by_hand(
        {2, 2, 2, 4, doubles(x)}, doubles(c), doubles(s), 2,
        [&](auto b, auto i) { return places[b * 2 + i]; }, interleaved);
    const std::vector<Datum> inputs{x, tensor<std::int64_t>({2, 2}, {4, 0, 2, 3}), c, s};
    expect_near(doubles(run_text(text, inputs)[0]), wanted.data);
    expect_gradients_of_differences(text, inputs);
  }
  // The position of the first row alone; half of each head of eight stays.
  const std::string partial =
      head + "1]" + tables + "<num_heads = 1, rotary_embedding_dim = 4> (x, p, c, s) }";
  const HeadsByHand wanted = turned_by_hand(
      {2, 2, 1, 8, doubles(x)}, doubles(c), doubles(s), 2, [](auto, auto i) { return 3 + i; }, false);
  expect_near(doubles(run_text(partial, {x, tensor<std::int64_t>({1}, {3}), c, s})[0]), wanted.data);
}

// Four heads of Q share two of K and V; heads of four elements.
class GroupQuery : public ::testing::Test {
 protected:
  static constexpr std::size_t kBatch = 2;
  const Tensor c_ = numbers({8, 2}, 1);
  const Tensor s_ = numbers({8, 2}, 2);

  static HeadsByHand heads(const Tensor& x, std::size_t count) {
    return {kBatch, static_cast<std::size_t>(x.dim(1)), count, 4, doubles(x)};
  }
  static testing::BiasByHand causal(std::vector<std::size_t> past) {
    return [past = std::move(past)](auto b, auto, auto i, auto j) { return j > past[b] + i ? kHidden : 0.0; };
  }
};

TEST_F(GroupQuery, RunsAPromptWithoutAPast) {
  const std::string text =
      "g (double[2,3,16] q, double[2,3,8] k, double[2,3,8] v, int32[2] n, int32[1] t) => "
      "(double[] y, double[] pk, double[] pv) "
      "{ y, pk, pv = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, softcap = 2.0> "
      "(q, k, v, , , n, t) }";
  const Tensor q = numbers({2, 3, 16});
  const Tensor k = numbers({2, 3, 8}, 3);
  const Tensor v = numbers({2, 3, 8}, 4);
  const std::vector<Datum> inputs{q, k, v, tensor<std::int32_t>({2}, {2, 2}), tensor<std::int32_t>({1}, {3})};
  const auto out = run_text(text, inputs);
  expect_near(doubles(out[0]), attention_by_hand(heads(q, 4), heads(k, 2), heads(v, 2),
                                                 {.softcap = 2, .bias = causal({0, 0})}));
  expect_near(doubles(out[1]), heads(k, 2).heads_first());
  expect_near(doubles(out[2]), heads(v, 2).heads_first());
  expect_gradients_of_differences(text, inputs);
}

// Sequence 0 has 3 positions in its cache, sequence 1 has 5; each gets one more, turned to its place.
TEST_F(GroupQuery, PutsOneStepWhereEachSequenceEnds) {
  const std::string text =
      "g (double[2,1,32] q, double[2,2,6,4] pk, double[2,2,6,4] pv, int32[2] n, int32 t, double[8,2] c, double[8,2] s)"
      " => (double[] y, double[] k, double[] v) "
      "{ y, k, v = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, do_rotary = 1> "
      "(q, , , pk, pv, n, t, c, s) }";
  const Tensor packed = numbers({2, 1, 32});
  const Tensor past_k = numbers({2, 2, 6, 4}, 3);
  const Tensor past_v = numbers({2, 2, 6, 4}, 4);
  const std::vector<std::size_t> past{3, 5};
  const auto position = [&](auto b, auto i) { return past[b] + i; };
  const auto part = [&](std::size_t from, std::size_t to) {
    return HeadsByHand{2, 1, (to - from) / 4, 4, columns_by_hand(doubles(packed), 32, from, to)};
  };
  const auto turned = [&](const HeadsByHand& x) {
    return turned_by_hand(x, doubles(c_), doubles(s_), 2, position, false);
  };
  const auto present = [&](const Tensor& cache, const HeadsByHand& added) {
    HeadsByHand all = HeadsByHand::from_heads_first(2, 6, 2, 4, doubles(cache));
    for (std::size_t b = 0; b < 2; ++b) {
      for (std::size_t h = 0; h < 2; ++h) {
        for (std::size_t d = 0; d < 4; ++d) all.at(b, past[b], h, d) = added.at(b, 0, h, d);
      }
    }
    return all;
  };
  const HeadsByHand k = present(past_k, turned(part(16, 24)));
  const HeadsByHand v = present(past_v, part(24, 32));
  const auto out = run_text(text, {packed, past_k, past_v, tensor<std::int32_t>({2}, {3, 5}),
                                   tensor<std::int32_t>({}, {6}), c_, s_});
  expect_near(doubles(out[0]), attention_by_hand(turned(part(0, 16)), k, v, {.bias = causal(past)}));
  expect_near(doubles(out[1]), k.heads_first());
  expect_near(doubles(out[2]), v.heads_first());
}

// A past of two positions and a prompt of three more: the cache grows. A window of two, a bias, and a sink.
TEST_F(GroupQuery, GrowsItsCacheAndLooksThroughAWindow) {
  const std::string head =
      "g (double[1,3,8] q, double[1,3,4] k, double[1,3,4] v, double[1,1,2,4] pk, double[1,1,2,4] pv, int32[1] n, "
      "int32[1] t, double[1,2,3,5] a, double[2] z) => (double[] y, double[] k2, double[] s) "
      "{ y, k2, , s = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 1, local_window_size = 2, "
      "scale = 0.25, qk_output = 2> (q, k, v, pk, pv, n, t, , , , ";
  const Tensor q = numbers({1, 3, 8});
  const Tensor k = numbers({1, 3, 4}, 1);
  const Tensor v = numbers({1, 3, 4}, 2);
  const Tensor past_k = numbers({1, 1, 2, 4}, 3);
  const Tensor past_v = numbers({1, 1, 2, 4}, 4);
  const Tensor added = numbers({1, 2, 3, 5}, 5);
  const Tensor sink = numbers({2}, 6);
  const std::vector<Datum> inputs{
      q, k, v, past_k, past_v, tensor<std::int32_t>({1}, {4}), tensor<std::int32_t>({1}, {5}), added, sink};
  const HeadsByHand all_k = followed_by({1, 2, 1, 4, doubles(past_k)}, {1, 3, 1, 4, doubles(k)});
  const HeadsByHand all_v = followed_by({1, 2, 1, 4, doubles(past_v)}, {1, 3, 1, 4, doubles(v)});
  AttentionByHand how{.scale = 0.25, .bias = [&](auto, auto h, auto i, auto j) {
                        const bool seen = j <= i + 2 && j + 2 > i + 2;
                        return seen ? doubles(added)[(h * 3 + i) * 5 + j] : kHidden;
                      }};
  const auto plain = run_text(head + "a) }", inputs);
  expect_near(doubles(plain[0]), attention_by_hand({1, 3, 2, 4, doubles(q)}, all_k, all_v, how));
  expect_near(doubles(plain[1]), all_k.data);
  double row = 0;
  for (std::size_t j = 0; j < 5; ++j) row += doubles(plain[2])[j];
  EXPECT_NEAR(row, 1, 1e-12);
  how.sink = [&](auto h) { return doubles(sink)[h]; };
  expect_near(doubles(run_text(head + "a, z) }", inputs)[0]),
              attention_by_hand({1, 3, 2, 4, doubles(q)}, all_k, all_v, how));
  expect_gradients_of_differences(head + "a, z) }", inputs);
}

TEST_F(GroupQuery, RefusesMoreHeadsThanThereAreNumbers) {
  const std::string head = "g (double[2,3,16] q, int32[2] n, int32[1] t) => (double[] y) ";
  const std::string many = "4611686018427387904";
  EXPECT_THROW(
      run_text(head + "{ y = com.microsoft.GroupQueryAttention <num_heads = " + many +
                   ", kv_num_heads = " + many + "> (q, , , , , n, t) }",
               {numbers({2, 3, 16}), tensor<std::int32_t>({2}, {2, 2}), tensor<std::int32_t>({1}, {3})}),
      Error);
}

TEST_F(GroupQuery, SmoothsItsSoftmaxNormalisesHeadsAndNeedNotBeCausal) {
  const std::string head =
      "g (double[2,3,16] q, double[2,3,8] k, double[2,3,8] v, int32[2] n, int32[1] t, double[4] a, double[4] b) => "
      "(double[] y) { y = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, ";
  const Tensor q = numbers({2, 3, 16});
  const Tensor k = numbers({2, 3, 8}, 3);
  const Tensor v = numbers({2, 3, 8}, 4);
  const Tensor a = numbers({4}, 5);
  const Tensor b = numbers({4}, 6);
  const std::vector<Datum> inputs{q, k, v, tensor<std::int32_t>({2}, {2, 2}), tensor<std::int32_t>({1}, {3}),
                                  a, b};
  expect_near(doubles(run_text(head + "smooth_softmax = 1> (q, k, v, , , n, t) }", inputs)[0]),
              attention_by_hand(heads(q, 4), heads(k, 2), heads(v, 2),
                                {.bias = causal({0, 0}), .sink = [](auto) { return 0.0; }}));
  const auto normalised = [](HeadsByHand x, const Tensor& scale) {
    x.data = testing::rms_norm_by_hand(x.data, doubles(scale), 0.25);
    return x;
  };
  const std::vector<Datum> shorter{q, k, v, tensor<std::int32_t>({2}, {1, 2}), tensor<std::int32_t>({1}, {3}),
                                   a, b};
  expect_near(
      doubles(run_text(head + "causal = 0, qk_norm_epsilon = 0.25> (q, k, v, , , n, t, , , , , , , , a, b) }",
                       shorter)[0]),
      attention_by_hand(
          normalised(heads(q, 4), a), normalised(heads(k, 2), b), heads(v, 2),
          {.bias = [](auto s, auto, auto, auto j) { return s == 0 && j > 1 ? kHidden : 0.0; }}));
}

}  // namespace
}  // namespace podium
