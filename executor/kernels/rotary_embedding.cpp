// RotaryEmbedding: pairs of elements of each head turned by an angle of their position.
#include "executor/kernels/attention.h"

namespace podium::kernels {
namespace {

struct RotaryPlan {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t length = 0;
  std::int64_t size = 0;       // of a head
  std::int64_t turned = 0;     // first elements of a head that are turned
  std::int64_t angles = 0;     // columns of the caches
  std::int64_t positions = 0;  // rows of the caches, when position_ids choose among them
  bool interleaved = false;
};

template <class C>
void turn(const RotaryPlan& plan, const C* x, const C* cosines, const C* sines, C* y) {
  const std::int64_t half = plan.turned / 2;
  const std::int64_t step = plan.interleaved ? 2 : 1;
  const std::int64_t partner = plan.interleaved ? 1 : half;
  for (std::int64_t i = 0; i < half; ++i) {
    const C real = x[i * step];
    const C imaginary = x[i * step + partner];
    y[i * step] = cosines[i] * real - sines[i] * imaginary;
    y[i * step + partner] = sines[i] * real + cosines[i] * imaginary;
  }
  std::copy(x + plan.turned, x + plan.size, y + plan.turned);
}

template <class C>
void run_rotary(const RotaryPlan& plan, const RunContext& run) {
  const Tensor x = as_computed<C>(run.input(0));
  const Tensor cosines = as_computed<C>(run.input(1));
  const Tensor sines = as_computed<C>(run.input(2));
  Tensor y = room_for<C>(run.output(0));
  const Heads<const C> from = heads_of(x.data<C>(), x.dims(), plan.heads);
  const Heads<C> to = heads_of(y.data<C>(), y.dims(), plan.heads);
  const std::int64_t* ids = run.has_input(3) ? run.input(3).data<std::int64_t>() : nullptr;
  for (std::int64_t place = 0; place < plan.batch * plan.length; ++place) {
    const std::int64_t row = ids == nullptr ? place : ids[place];
    if (ids != nullptr && (row < 0 || row >= plan.positions)) {
      throw Error("position_ids has {}, 0 to {} needed", row, plan.positions - 1);
    }
    const std::int64_t b = place / plan.length;
    const std::int64_t i = place % plan.length;
    for (std::int64_t h = 0; h < plan.heads; ++h) {
      turn(plan, from.at(b, h) + i * from.row_step, cosines.data<C>() + row * plan.angles,
           sines.data<C>() + row * plan.angles, to.at(b, h) + i * to.row_step);
    }
  }
  store_computed<C>(y, run.output(0));
}

}  // namespace

PreparedKernel prepare_rotary_embedding(PrepareContext& context) {
  const Dims& x = context.dims(0);
  RotaryPlan plan{.batch = x[0], .length = x[x.size() - 2]};
  plan.heads = x.size() == 4 ? x[1] : context.get_int("num_heads");
  plan.size = x.size() == 4 ? x[3] : x[2] / plan.heads;
  const std::int64_t wanted = context.get_int("rotary_embedding_dim");
  plan.turned = wanted == 0 ? plan.size : wanted;
  plan.interleaved = context.get_int("interleaved") != 0;
  plan.angles = context.dims(1).back();
  plan.positions = context.dims(1)[0];
  const bool in_double = context.element(0) == DataType::Double;
  return [plan, in_double](const RunContext& run) {
    in_double ? run_rotary<double>(plan, run) : run_rotary<float>(plan, run);
  };
}

}  // namespace podium::kernels
