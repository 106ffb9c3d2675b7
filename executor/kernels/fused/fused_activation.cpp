#include "executor/kernels/fused/fused_activation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "executor/kernels/tools/parallel.h"
#include "ir/builder.h"

namespace podium::kernels {
namespace {

struct Known {
  std::string_view name;
  dnnl::algorithm algorithm;
};

constexpr std::array<Known, 9> kKnown{{
    {"LeakyRelu", dnnl::algorithm::eltwise_relu},
    {"Elu", dnnl::algorithm::eltwise_elu},
    {"Sigmoid", dnnl::algorithm::eltwise_logistic},
    {"Tanh", dnnl::algorithm::eltwise_tanh},
    {"HardSwish", dnnl::algorithm::eltwise_hardswish},
    {"Swish", dnnl::algorithm::eltwise_swish},
    {"Mish", dnnl::algorithm::eltwise_mish},
    {"GeluErf", dnnl::algorithm::eltwise_gelu_erf},
    {"GeluTanh", dnnl::algorithm::eltwise_gelu_tanh},
}};

}  // namespace

std::optional<Clamp> clamp_of(const ir::TypedOp& op) {
  const std::string& name = op.get_string("activation");
  if (name == "Relu") return Clamp{0, std::numeric_limits<float>::infinity()};
  if (name == "Clip") return Clamp{op.get_float("alpha"), op.get_float("beta")};
  return std::nullopt;
}

// Comparisons with NaN are false, so that it takes neither bound.
void Clamp::apply(Tensor& y) const {
  float* const numbers = y.data<float>();
  parallel_ranges(y.size(), 1, [&](std::int64_t begin, std::int64_t end) {
    apply(std::span(numbers + begin, numbers + end));
  });
}

void Clamp::apply(std::span<float> numbers) const {
  for (float& number : numbers) {
    const float raised = number < low ? low : number;
    number = raised > high ? high : raised;
  }
}

bool Clamp::apply_to_finite(std::span<float> numbers) const {
  bool finite = true;  // no way out of the loop, which so works on vectors
  for (float& number : numbers) {
    finite &= std::abs(number) <= std::numeric_limits<float>::max();
    const float raised = number < low ? low : number;
    number = raised > high ? high : raised;
  }
  return finite;
}

void Clamp::append_to(dnnl::post_ops& post_ops) const {
  const bool is_relu = low == 0 && high == std::numeric_limits<float>::infinity();
  post_ops.append_eltwise(1.0F, is_relu ? dnnl::algorithm::eltwise_relu : dnnl::algorithm::eltwise_clip,
                          is_relu ? 0.0F : low, is_relu ? 0.0F : high);
}

std::optional<Activation> activation_of(const ir::TypedOp& op) {
  const std::string& name = op.get_string("activation");
  if (name.empty() || clamp_of(op)) return std::nullopt;
  const auto* found =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& known) { return known.name == name; });
  IR_CHECK(found != kKnown.end(), "activation {} is not known", name);
  return Activation{found->algorithm, op.get_float("alpha"), op.get_float("beta")};
}

void append_activation(dnnl::post_ops& post_ops, const std::optional<Activation>& activation) {
  if (activation) post_ops.append_eltwise(1.0F, activation->algorithm, activation->alpha, activation->beta);
}

std::shared_ptr<const ChainCode> activation_code(const std::optional<Activation>& activation) {
  const bool is_sigmoid = activation && activation->algorithm == dnnl::algorithm::eltwise_logistic;
  const bool is_swish = activation && activation->algorithm == dnnl::algorithm::eltwise_swish;
  if (!is_sigmoid && !is_swish) return nullptr;
  // All products of a network have the same, which its instruction cache so keeps.
  static std::mutex mutex;
  static std::map<std::pair<dnnl::algorithm, float>, std::shared_ptr<const ChainCode>> made;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = made.try_emplace({activation->algorithm, activation->alpha});
  if (!is_new) return found->second;
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", ir::Type::tensor(DataType::Float, {1}));
  builder.output(is_sigmoid ? builder.op("Sigmoid", {x})
                            : builder.op("Swish", {x}, {{"alpha", activation->alpha}}));
  found->second = ChainCode::of(graph, ir::IdMap<ir::ValueId, bool>(std::ssize(graph.values), true));
  return found->second;
}

void apply(const ChainCode& code, std::span<float> numbers) {
  code.run(std::array<void*, 2>{numbers.data(), numbers.data()}, std::ssize(numbers));
}

void apply(const ChainCode& code, Tensor& y) {
  constexpr std::int64_t kCost = 4;
  float* const numbers = y.data<float>();
  parallel_ranges(y.size(), kCost, [&](std::int64_t begin, std::int64_t end) {
    apply(code, std::span(numbers + begin, numbers + end));
  });
}

ActivationPass::ActivationPass(const dnnl::memory::desc& of, const std::optional<Activation>& activation,
                               std::size_t& scratch)
    : code_(activation_code(activation)) {
  if (!activation || code_) return;
  const dnnl::eltwise_forward::desc description(dnnl::prop_kind::forward_inference, activation->algorithm, of,
                                                activation->alpha, activation->beta);
  const dnnl::eltwise_forward::primitive_desc primitive(description, onednn::attributes(), onednn::cpu());
  scratch = std::max(scratch, primitive.scratchpad_desc().get_size());
  call_ = onednn::make_call(dnnl::eltwise_forward(primitive), primitive,
                            {{DNNL_ARG_SRC, of}, {DNNL_ARG_DST, of}});
}

void ActivationPass::operator()(const RunContext& run) const {
  Tensor& y = run.output(0);
  if (code_) return apply(*code_, y);
  if (call_) (*call_)(std::array<const void*, 3>{y.raw(), y.raw(), run.scratch_memory});
}

}  // namespace podium::kernels
