// Runs the plan of an Einsum (einsum_plan.cpp): strided copies with sums, and batches of matrix products,
// from place to place in scratch memory. Integers are computed modulo 2^64, narrow floats in float, by
// conversion around the same plan. Products below 512 operations skip the library.
#include <algorithm>

#include "executor/kernels/einsum_plan.h"
#include "executor/kernels/matmul_parts.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/dispatch.h"

namespace podium::kernels {
namespace {

// Sums (or copies) the strided elements below `axis`, depth first, so that results are written in order.
template <class T>
void gather(const EinsumCopy& copy, std::size_t axis, const T* from, std::int64_t first, T* to) {
  const std::int64_t size = copy.dims[axis];
  const std::int64_t stride = copy.strides[axis];
  if (axis + 1 < copy.dims.size()) {
    const std::int64_t below = ir::element_count(Dims(copy.dims.begin() + axis + 1, copy.dims.end()));
    for (std::int64_t i = 0; i < size; ++i) gather(copy, axis + 1, from + i * stride, first + i * below, to);
  } else if (copy.inner == 1) {
    for (std::int64_t i = 0; i < size; ++i) to[first + i] = from[i * stride];
  } else {
    for (std::int64_t i = 0; i < size; ++i) to[(first + i) / copy.inner] += from[i * stride];
  }
}

template <class T>
void run_copy(const EinsumCopy& copy, const T* from, T* to) {
  if (copy.inner != 1) std::fill_n(to, copy.results, T{0});
  if (copy.results * copy.inner == 0) return;
  if (copy.dims.empty()) {
    *to = *from;
  } else {
    gather(copy, 0, from, 0, to);
  }
}

// Products too small for a library call.
template <class T>
void multiply_plainly(const Product& p, const T* a, const T* b, T* c) {
  const std::int64_t step_a = p.transpose_a ? p.m : 1;
  const std::int64_t step_b = p.transpose_b ? 1 : p.n;
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      const T* left = a + (p.transpose_a ? i : i * p.k);
      const T* right = b + (p.transpose_b ? j * p.k : j);
      T sum{0};
      for (std::int64_t l = 0; l < p.k; ++l) sum += left[l * step_a] * right[l * step_b];
      c[i * p.n + j] = sum;
    }
  }
}

template <class T>
void run_product(const EinsumProduct& step, const T* a, const T* b, T* c) {
  constexpr double kSmallFlop = 512;
  const Product& p = step.product;
  for_each_product(step.batch, p.flop() + 8, [&](std::int64_t i) {
    const T* left = a + i * p.m * p.k;
    const T* right = b + i * p.k * p.n;
    T* to = c + i * p.m * p.n;
    if (p.flop() <= kSmallFlop) {
      multiply_plainly(p, left, right, to);
    } else {
      multiply(p, left, right, to);
    }
  });
}

// `inputs` are in the type computed with. Gives where the result is.
template <class T>
const T* run_plan(const EinsumPlan& plan, const std::vector<const T*>& inputs, T* work) {
  const auto read = [&](const EinsumPlace& place) -> const T* {
    return place.is_input ? inputs[place.at] : work + place.at;
  };
  for (const EinsumStep& step : plan.steps) {
    if (step.is_product) {
      run_product(step.product, read(step.product.a), read(step.product.b), work + step.product.to.at);
    } else {
      run_copy(step.copy, read(step.copy.from), work + step.copy.to.at);
    }
  }
  return read(plan.result);
}

template <class T>
PreparedKernel einsum_of(PrepareContext& context, EinsumPlan plan) {
  context.need_scratch(plan.work_elements * sizeof(T));
  return [plan = std::move(plan)](const RunContext& run) {
    std::vector<const T*> inputs;
    for (const Datum* input : run.inputs) inputs.push_back(static_cast<const T*>(input->tensor.raw()));
    const T* result = run_plan(plan, inputs, run.scratch<T>());
    std::copy_n(result, run.output(0).size(), static_cast<T*>(run.output(0).raw()));
  };
}

// Converts inputs into `Wide`, computes there, converts back. `convert_in(tensor, to)`, `convert_out(from,
// tensor)`.
template <class Wide, class In, class Out>
PreparedKernel einsum_by_conversion(PrepareContext& context, EinsumPlan plan, In convert_in,
                                    Out convert_out) {
  std::int64_t total = plan.work_elements;
  for (const ir::Type& type : context.input_types) total += type.element_count();
  context.need_scratch(total * sizeof(Wide));
  return [=, plan = std::move(plan)](const RunContext& run) {
    auto* next = run.scratch<Wide>();
    std::vector<const Wide*> inputs;
    for (const Datum* input : run.inputs) {
      convert_in(input->tensor, next);
      inputs.push_back(next);
      next += input->tensor.size();
    }
    convert_out(run_plan(plan, inputs, next), run.output(0));
  };
}

template <class T>
PreparedKernel einsum_of_integers(PrepareContext& context, EinsumPlan plan) {
  return einsum_by_conversion<std::uint64_t>(
      context, std::move(plan),
      [](const Tensor& from, std::uint64_t* to) { std::copy_n(from.data<T>(), from.size(), to); },
      [](const std::uint64_t* from, Tensor& to) {
        std::transform(from, from + to.size(), to.data<T>(),
                       [](std::uint64_t value) { return static_cast<T>(value); });
      });
}

}  // namespace

PreparedKernel prepare_einsum(PrepareContext& context) {
  std::vector<int> ranks;
  std::vector<Dims> inputs;
  for (const ir::Type& type : context.input_types) {
    ranks.push_back(type.rank());
    inputs.push_back(type.dims);
  }
  EinsumPlan plan = plan_einsum(ir::read_einsum(context.get_string("equation"), ranks), inputs);
  const DataType type = context.element(0);
  if (type == DataType::Float) return einsum_of<float>(context, std::move(plan));
  if (type == DataType::Double) return einsum_of<double>(context, std::move(plan));
  if (ir::storage_bytes(type) == 8) return einsum_of<std::uint64_t>(context, std::move(plan));
  if (ir::is_float(type)) {
    return einsum_by_conversion<float>(
        context, std::move(plan), [](const Tensor& from, float* to) { to_float(from, 0, from.size(), to); },
        [](const float* from, Tensor& to) { from_float(from, to, 0, to.size()); });
  }
  return dispatch<std::int8_t, std::int16_t, std::int32_t, std::uint8_t, std::uint16_t, std::uint32_t>(
      type, [&](auto tag) { return einsum_of_integers<decltype(tag)>(context, plan); });
}

}  // namespace podium::kernels
