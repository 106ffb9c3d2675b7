#include "tests/executor/session/reference_network.h"

#include <cmath>

#include "tests/executor/session/acceptance.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

std::vector<float> first_weight(int count, double phase) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(0.7 * std::sin(2.3 * i + phase)));
  return values;
}

std::array<std::vector<float>, 4> first_weights() {
  using Net = ReferenceNetwork;
  return {first_weight(Net::kIn * Net::kHidden, 0.4), first_weight(Net::kHidden, 1.1),
          first_weight(Net::kHidden * Net::kOut, 0.9), first_weight(Net::kOut, 1.4)};
}

}  // namespace

ReferenceNetwork::ReferenceNetwork() {
  const auto first = first_weights();
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i].assign(first[i].begin(), first[i].end());
}

std::array<Numbers, 4> ReferenceNetwork::gradients(const std::vector<float>& x) const {
  const auto& [w1, b1, w2, b2] = weights;
  const int samples = static_cast<int>(x.size()) / kIn;
  std::array<Numbers, 4> found;
  for (std::size_t i = 0; i < found.size(); ++i) found[i].assign(weights[i].size(), 0);
  auto& [dw1, db1, dw2, db2] = found;
  const auto at = [](int row, int columns, int column) {
    return static_cast<std::size_t>(row * columns + column);
  };
  for (int n = 0; n < samples; ++n) {
    std::array<double, kHidden> hidden{};
    for (int h = 0; h < kHidden; ++h) {
      double sum = b1[h];
      for (int i = 0; i < kIn; ++i) sum += static_cast<double>(x[at(n, kIn, i)]) * w1[at(i, kHidden, h)];
      hidden[h] = std::tanh(sum);
    }
    std::array<double, kHidden> flow{};
    for (int o = 0; o < kOut; ++o) {
      double y = b2[o];
      for (int h = 0; h < kHidden; ++h) y += hidden[h] * w2[at(h, kOut, o)];
      const double dy = (y > 0 ? 1.0 : y < 0 ? -1.0 : 0.0) / (samples * kOut);
      db2[o] += dy;
      for (int h = 0; h < kHidden; ++h) {
        dw2[at(h, kOut, o)] += dy * hidden[h];
        flow[h] += dy * w2[at(h, kOut, o)];
      }
    }
    for (int h = 0; h < kHidden; ++h) {
      const double value = hidden[h];
      const double d = flow[h] * (1 - value * value);
      db1[h] += d;
      for (int i = 0; i < kIn; ++i) dw1[at(i, kHidden, h)] += d * static_cast<double>(x[at(n, kIn, i)]);
    }
  }
  return found;
}

importer::Model reference_model(int samples, bool mean) {
  using Net = ReferenceNetwork;
  const auto first = first_weights();
  const std::array<ir::Dims, 4> dims{ir::Dims{Net::kIn, Net::kHidden}, ir::Dims{Net::kHidden},
                                     ir::Dims{Net::kHidden, Net::kOut}, ir::Dims{Net::kOut}};
  std::string weights;
  for (std::size_t i = 0; i < first.size(); ++i) {
    weights += (i > 0 ? ", " : "") + initializer(Net::kNames[i], dims[i], first[i]);
  }
  return model_of(fmt::format(R"(g (float[{0},3] x) => (float[{0},2] y, float loss) <{1}> {{
    p = MatMul (x, w1) q = Add (p, b1) h = Tanh (q) r = MatMul (h, w2) y = Add (r, b2)
    s = Abs (y) loss = {2} <keepdims = 0> (s) }})",
                              samples, weights, mean ? "ReduceMean" : "ReduceSum"));
}

std::vector<float> reference_samples(int count, int seed) {
  std::vector<float> samples;
  for (int i = 0; i < count * ReferenceNetwork::kIn; ++i) {
    samples.push_back(static_cast<float>(std::sin(1.7 * i + 0.61 * seed + 0.3 * std::cos(3.1 * i + seed))));
  }
  return samples;
}

ir::Tensor input_of(const std::vector<float>& samples) {
  return tensor<float>({std::ssize(samples) / ReferenceNetwork::kIn, ReferenceNetwork::kIn}, samples);
}

double relative_error(const TensorsByName& found, const ReferenceNetwork& expected) {
  double differences = 0;
  double sizes = 0;
  for (std::size_t w = 0; w < expected.weights.size(); ++w) {
    const auto values = found.at(ReferenceNetwork::kNames[w]).values<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      differences += std::fabs(static_cast<double>(values[i]) - expected.weights[w][i]);
      sizes += std::fabs(expected.weights[w][i]);
    }
  }
  return differences / sizes;
}

}  // namespace podium::testing
