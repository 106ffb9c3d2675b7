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

void check_caches(const PrepareContext& context, const RotaryPlan& plan) {
  const Dims& cache = context.dims(1);
  const bool by_position = context.has_input(3);
  if (context.dims(2) != cache) {
    throw Error("cos_cache is {}, sin_cache {}", ir::to_string(cache), ir::to_string(context.dims(2)));
  }
  const bool fits = by_position ? cache.size() == 2
                                : cache.size() == 3 && cache[0] == plan.batch && cache[1] == plan.length;
  if (!fits || cache.back() < plan.turned / 2) {
    throw Error("cos_cache is {}, {} with at least {} columns needed", ir::to_string(cache),
                by_position ? "one row for each position" : "one row for each batch element and position",
                plan.turned / 2);
  }
  if (by_position && context.dims(3) != Dims{plan.batch, plan.length}) {
    throw Error("position_ids is {}, {} needed", ir::to_string(context.dims(3)),
                ir::to_string(Dims{plan.batch, plan.length}));
  }
}

}  // namespace

PreparedKernel prepare_rotary_embedding(PrepareContext& context) {
  const Dims& x = context.dims(0);
  if (x.size() != 3 && x.size() != 4) throw Error("X is {}, 3 or 4 axes needed", ir::to_string(x));
  RotaryPlan plan{.batch = x[0], .length = x[x.size() - 2]};
  plan.heads = x.size() == 4 ? x[1] : context.get_int("num_heads");
  if (plan.heads <= 0 || (x.size() == 3 && x[2] % plan.heads != 0)) {
    throw Error("num_heads is {}, a divisor of {} needed", plan.heads, x.back());
  }
  plan.size = x.size() == 4 ? x[3] : x[2] / plan.heads;
  const std::int64_t wanted = context.get_int("rotary_embedding_dim");
  plan.turned = wanted == 0 ? plan.size : wanted;
  if (plan.turned < 0 || plan.turned > plan.size || plan.turned % 2 != 0) {
    throw Error("rotary_embedding_dim is {}, an even number up to {} needed", plan.turned, plan.size);
  }
  plan.interleaved = context.get_int("interleaved") != 0;
  plan.angles = context.dims(1).back();
  plan.positions = context.dims(1)[0];
  check_caches(context, plan);
  const bool in_double = context.element(0) == DataType::Double;
  return [plan, in_double](const RunContext& run) {
    in_double ? run_rotary<double>(plan, run) : run_rotary<float>(plan, run);
  };
}

}  // namespace podium::kernels
