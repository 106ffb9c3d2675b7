// Two layers and a loss in double: what acceptance tests compare trained weights with. The optimizers'
// equations are in the tests; loops here are as plain as they come.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "executor/session/training_session.h"

namespace podium::testing {

using Numbers = std::vector<double>;

/// y = Tanh (x w1 + b1) w2 + b2 of samples of three numbers; the loss is the mean, or the sum, of |y|.
struct ReferenceNetwork {
  static constexpr int kIn = 3;
  static constexpr int kHidden = 4;
  static constexpr int kOut = 2;
  static constexpr std::array<const char*, 4> kNames{"w1", "b1", "w2", "b2"};

  std::array<Numbers, 4> weights;  ///< in the order of kNames

  /// The weights that the model begins with.
  ReferenceNetwork();
  /// The gradients of the mean over samples and outputs, in the order of kNames.
  std::array<Numbers, 4> gradients(const std::vector<float>& x) const;
};

/// The same as a model, with `samples` samples a micro-batch: input x, outputs y and loss.
importer::Model reference_model(int samples, bool mean = true);

/// Samples of which no two are alike, the same on every machine.
std::vector<float> reference_samples(int count, int seed);
/// The model's input, [samples, 3].
ir::Tensor input_of(const std::vector<float>& samples);

/// The sum of magnitudes of differences over the sum of the magnitudes expected.
double relative_error(const TensorsByName& found, const ReferenceNetwork& expected);

}  // namespace podium::testing
