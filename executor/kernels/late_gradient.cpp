// LateGradient: the ops that compute the gradient, prepared like a body once shapes are known, and again for
// other numbers where the ops depend on those.
#include <algorithm>
#include <cstring>
#include <memory>

#include "executor/kernels/gradient_ops.h"
#include "ir/gradients/body.h"
#include "ir/gradients/late.h"
#include "ir/ops/late_gradient.h"
#include "ir/remove_dead.h"

namespace podium::kernels {
namespace {

// Inputs whose numbers are known become constants of the graph, other inputs its inputs.
ir::Graph gradient_graph(const ir::TypedOp& typed) {
  ir::Graph graph;
  ir::Op op = typed.op;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    op.inputs[i] = graph.add_value(graph.fresh_name("x"), ir::Type(typed.input(i)));
    if (const Tensor* known = typed.constant(i)) {
      graph[op.inputs[i]].constant = *known;
    } else {
      graph.inputs.push_back(op.inputs[i]);
    }
  }
  ir::Builder builder(graph);
  ir::GradientContext context(builder, std::move(op), {}, {});
  for (ir::ValueId id : ir::late_gradient_outputs(context)) graph.outputs.push_back(ir::handed_on(graph, id));
  ir::infer(graph, {.evaluate = evaluate});
  ir::remove_dead(graph);
  return graph;
}

class Late {
 public:
  explicit Late(const PrepareContext& context)
      : op_(context.op), types_(context.input_types), prepare_body_(context.body_preparer) {
    IR_CHECK(prepare_body_, "nobody can run what computes a gradient");
    for (const Tensor* known : context.constants) {
      constants_.push_back(known == nullptr ? Datum() : Datum(*known));
    }
    try {
      prepare();
    } catch (const ir::NeedsRun&) {
      for (std::size_t i = 0; i < types_.size(); ++i) {
        if (!constants_[i].is_tensor() && ir::is_late_number(context, i)) numbers_.push_back(i);
      }
      if (numbers_.empty()) throw;
    }
  }

  void run(const RunContext& run) {
    if (!runner_ || std::any_of(numbers_.begin(), numbers_.end(),
                                [&](std::size_t i) { return differ(constants_[i].tensor, run.input(i)); })) {
      for (std::size_t i : numbers_) constants_[i] = run.input(i).clone();
      prepare();
    }
    std::vector<Datum> inputs;
    for (std::size_t i = 0; i < constants_.size(); ++i) {
      if (!constants_[i].is_tensor()) inputs.push_back(run.datum(i));
    }
    const std::vector<Datum> results = runner_(inputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Tensor& from = results[i].tensor;
      if (from.bytes() > 0) std::memcpy(run.output(i).raw(), from.raw(), from.bytes());
    }
  }

 private:
  static bool differ(const Tensor& a, const Tensor& b) {
    return a.bytes() > 0 && std::memcmp(a.raw(), b.raw(), a.bytes()) != 0;
  }

  void prepare() {
    ir::TypedOp typed(op_);
    typed.input_types = types_;
    for (const Datum& known : constants_)
      typed.constants.push_back(known.is_tensor() ? &known.tensor : nullptr);
    runner_ = prepare_body_(gradient_graph(typed));
  }

  ir::Op op_;
  std::vector<ir::Type> types_;
  std::function<BodyRunner(const ir::Graph&)> prepare_body_;
  std::vector<Datum> constants_;      // per input: nothing where it comes with the run
  std::vector<std::size_t> numbers_;  // inputs whose numbers of the last run are among the constants
  BodyRunner runner_;
};

}  // namespace

PreparedKernel prepare_late_gradient(PrepareContext& context) {
  return [late = std::make_shared<Late>(context)](const RunContext& run) { late->run(run); };
}

}  // namespace podium::kernels
