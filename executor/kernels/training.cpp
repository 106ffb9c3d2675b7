// ONNX's own optimizers: Adagrad, Adam and Momentum of ai.onnx.preview.training, as models contain them
// (Podium's training makes ops of its own, see docs/semantics.md).
// A node updates many tensors: inputs are the learning rate, the step count, then all X, all gradients, then
// all states; outputs are all new X, then all new states. A rule says how one tensor goes, in its own type.
#include <cmath>

#include "executor/kernels/families.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {
namespace {

// The tensors of one update: the inputs and outputs for tensor `i` of `count`.
template <class T>
struct Update {
  const RunContext& run;
  std::size_t count = 0;
  std::size_t i = 0;

  std::int64_t size() const { return run.input(2 + i).size(); }
  /// Part 0 is X, 1 is G, then the states.
  const T* in(std::size_t part) const { return run.input(2 + part * count + i).template data<T>(); }
  /// nullptr when nobody wants it. Part 0 is the new X, then the new states.
  T* out(std::size_t part) const {
    const std::size_t index = part * count + i;
    return run.has_output(index) ? run.output(index).template data<T>() : nullptr;
  }
};

template <class T>
void put(T* to, std::int64_t i, T value) {
  if (to != nullptr) to[i] = value;
}

double learning_rate(const RunContext& run) { return run.input(0).to_number(); }
double step_count(const RunContext& run) { return run.input(1).to_number(); }

struct Adagrad {
  static constexpr std::size_t kParts = 3;
  float decay_factor = 0;
  float epsilon = 0;
  float norm_coefficient = 0;

  template <class T>
  void apply(const Update<T>& update) const {
    const auto rate = static_cast<T>(learning_rate(update.run) / (1 + step_count(update.run) * decay_factor));
    const T* x = update.in(0);
    const T* g = update.in(1);
    const T* h = update.in(2);
    for (std::int64_t i = 0; i < update.size(); ++i) {
      const T gradient = norm_coefficient * x[i] + g[i];
      const T squares = h[i] + gradient * gradient;
      put(update.out(0), i, x[i] - rate * gradient / (std::sqrt(squares) + epsilon));
      put(update.out(1), i, squares);
    }
  }
};

struct Adam {
  static constexpr std::size_t kParts = 4;
  float alpha = 0;
  float beta = 0;
  float epsilon = 0;
  float norm_coefficient = 0;
  float norm_coefficient_post = 0;

  double corrected_rate(const RunContext& run) const {
    const double steps = step_count(run);
    if (steps <= 0) return learning_rate(run);
    return learning_rate(run) * std::sqrt(1 - std::pow(beta, steps)) / (1 - std::pow(alpha, steps));
  }

  template <class T>
  void apply(const Update<T>& update) const {
    const auto rate = static_cast<T>(corrected_rate(update.run));
    const T* x = update.in(0);
    const T* g = update.in(1);
    const T* v = update.in(2);
    const T* h = update.in(3);
    for (std::int64_t i = 0; i < update.size(); ++i) {
      const T gradient = norm_coefficient * x[i] + g[i];
      const T mean = alpha * v[i] + (T{1} - alpha) * gradient;
      const T squares = beta * h[i] + (T{1} - beta) * (gradient * gradient);
      const T moved = x[i] - rate * (mean / (std::sqrt(squares) + epsilon));
      put(update.out(0), i, (T{1} - norm_coefficient_post) * moved);
      put(update.out(1), i, mean);
      put(update.out(2), i, squares);
    }
  }
};

struct Momentum {
  static constexpr std::size_t kParts = 3;
  float alpha = 0;
  float beta = 0;
  float norm_coefficient = 0;
  bool nesterov = false;

  template <class T>
  void apply(const Update<T>& update) const {
    const auto rate = static_cast<T>(learning_rate(update.run));
    const T share = step_count(update.run) > 0 ? beta : 1;
    const T* x = update.in(0);
    const T* g = update.in(1);
    const T* v = update.in(2);
    for (std::int64_t i = 0; i < update.size(); ++i) {
      const T gradient = norm_coefficient * x[i] + g[i];
      const T speed = alpha * v[i] + share * gradient;
      put(update.out(0), i, x[i] - rate * (nesterov ? gradient + alpha * speed : speed));
      put(update.out(1), i, speed);
    }
  }
};

// The tensors of one node may differ in type.
template <class Rule>
PreparedKernel update_all(const PrepareContext& context, const Rule& rule) {
  const std::size_t count = (context.input_count() - 2) / Rule::kParts;
  return [rule, count](const RunContext& run) {
    for (std::size_t i = 0; i < count; ++i) {
      dispatch<float, double>(run.input(2 + i).type(), [&](auto tag) {
        rule.apply(Update<decltype(tag)>{run, count, i});
        return true;
      });
    }
  };
}

PreparedKernel adagrad(PrepareContext& context) {
  return update_all(context, Adagrad{.decay_factor = context.get_float("decay_factor"),
                                     .epsilon = context.get_float("epsilon"),
                                     .norm_coefficient = context.get_float("norm_coefficient")});
}

PreparedKernel adam(PrepareContext& context) {
  return update_all(context, Adam{.alpha = context.get_float("alpha"),
                                  .beta = context.get_float("beta"),
                                  .epsilon = context.get_float("epsilon"),
                                  .norm_coefficient = context.get_float("norm_coefficient"),
                                  .norm_coefficient_post = context.get_float("norm_coefficient_post")});
}

PreparedKernel momentum(PrepareContext& context) {
  const std::string& mode = context.get_string("mode");
  if (mode != "standard" && mode != "nesterov")
    throw Error("mode is '{}', standard or nesterov needed", mode);
  return update_all(context, Momentum{.alpha = context.get_float("alpha"),
                                      .beta = context.get_float("beta"),
                                      .norm_coefficient = context.get_float("norm_coefficient"),
                                      .nesterov = mode == "nesterov"});
}

// The session replaces a Gradient by ops that compute it; one that is still here is where it cannot be.
PreparedKernel gradient(PrepareContext& /*context*/) {
  throw Error("it stands in the body of another node, the main graph needed");
}

PreparedKernel zeros(PrepareContext& /*context*/) {
  return [](const RunContext& run) {
    Tensor& output = run.output(0);
    zero_elements(output.type(), output.raw(), output.size());
  };
}

}  // namespace

std::span<const KernelSpec> training_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Adagrad", .prepare = adagrad, .domain = "ai.onnx.preview.training"},
      {.name = "Adam", .prepare = adam, .domain = "ai.onnx.preview.training"},
      {.name = "Momentum", .prepare = momentum, .domain = "ai.onnx.preview.training"},
      {.name = "Gradient", .prepare = gradient, .domain = "ai.onnx.preview.training"},
      {.name = "Zeros", .prepare = zeros, .domain = "podium"},
  };
  return kKernels;
}

}  // namespace podium::kernels
