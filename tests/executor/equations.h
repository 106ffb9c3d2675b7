// Trains one weight with an optimizer and compares it with equations in double. The loss is the sum of weight
// times data, so that the data are the gradients.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/passes/make_training.h"
#include "tests/support/train_graph.h"

namespace podium::testing {

using Numbers = std::vector<double>;

inline constexpr int kSteps = 16;
extern const Numbers kFirstWeight;
/// "w", three numbers, times "x".
extern const char* const kProduct;

/// The gradient of micro-batch m of a step.
Numbers gradient(int step, int m = 0);
/// A hyper-parameter that falls twice: `first`, then 0.6 of it, then 0.2 of it.
inline double falling(double first, int step) { return first * (step < 6 ? 1 : step < 11 ? 0.6 : 0.2); }
double length(const Numbers& numbers);

ir::Tensor float_tensor(const Numbers& numbers);
ir::Training training_of(const std::string& text, const ir::Optimizer& optimizer,
                         const ir::Contributions& contributions = {});
void expect_near(const ir::Tensor& found, const Numbers& expected, double relative = 1e-6);

/// From the weight and its gradient before update t, which counts from 1, to the weight after the update.
using Equations = std::function<Numbers(const Numbers& weight, const Numbers& gradient, int t)>;
using Schedule = std::function<void(ir::Optimizer&, int step)>;

/// Trains for kSteps updates, whose gradient is the sum or mean over the micro-batches, and compares with the
/// equations.
void expect_equations(ir::Optimizer optimizer, const ir::Contributions& contributions,
                      const Schedule& schedule, const Equations& equations);
/// Equations that apply one equation to each element.
Equations each(const std::function<double(double w, double g, int t, std::size_t i)>& equation);
/// One micro-batch and several, one replica and several, in every reduction.
const std::vector<ir::Contributions>& all_contributions();

}  // namespace podium::testing
