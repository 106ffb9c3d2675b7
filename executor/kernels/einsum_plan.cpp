// Inputs are contracted from left to right, the result so far with the next one. For two operands every label
// is one of four kinds: batch (in both and needed later), contracted (in both and not needed), rows (left
// only), columns (right only). Labels that nobody else needs are summed away first; then both sides are
// arranged as [batch, rows, contracted] and [batch, contracted, columns], or transposed where they lie so
// already, and one batch of matrix products follows. A copy is planned only where the strides do not fit as
// they are. A label that an operand repeats adds up its strides, which walks the diagonal.
#include "executor/kernels/einsum_plan.h"

#include <algorithm>

namespace podium::kernels {
namespace {

using ir::Dims;
using Labels = std::vector<int>;

bool has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// A tensor under way: where it is and how its labels lie there.
struct Operand {
  EinsumPlace place;
  Labels labels = {};
  Dims strides = {};
};

Labels operator+(Labels a, const Labels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class Planner {
 public:
  Planner(const ir::EinsumEquation& equation, const std::vector<Dims>& inputs)
      : sizes_(ir::einsum_sizes(equation, inputs)), output_(equation.output) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      operands_.push_back(read(equation.inputs[i], inputs[i], i));
    }
  }

  EinsumPlan plan() && {
    Operand left = operands_.front();
    for (std::size_t i = 1; i < operands_.size(); ++i) {
      Labels later = output_;
      for (std::size_t k = i + 1; k < operands_.size(); ++k) later = later + operands_[k].labels;
      left = contract(left, operands_[i], later);
    }
    plan_.result = arrange(left, output_, summed(left, output_));
    return std::move(plan_);
  }

 private:
  std::int64_t size(int label) const { return sizes_[label]; }

  std::int64_t count(const Labels& labels) const {
    std::int64_t product = 1;
    for (int label : labels) product *= size(label);
    return product;
  }

  Dims dims(const Labels& labels) const {
    Dims result;
    for (int label : labels) result.push_back(size(label));
    return result;
  }

  // A repeated label walks the diagonal; an axis of 1 that stretches is no axis.
  Operand read(const Labels& labels, const Dims& shape, std::int64_t input) const {
    Operand operand{.place = {.is_input = true, .at = input}};
    std::int64_t stride = 1;
    for (std::size_t back = labels.size(); back-- > 0;) {
      const auto known = std::find(operand.labels.begin(), operand.labels.end(), labels[back]);
      const bool stretches = shape[back] == 1 && size(labels[back]) != 1;
      if (known != operand.labels.end() && !stretches) {
        operand.strides[known - operand.labels.begin()] += stride;
      } else if (!stretches) {
        operand.labels.insert(operand.labels.begin(), labels[back]);
        operand.strides.insert(operand.strides.begin(), stride);
      }
      stride *= shape[back];
    }
    return operand;
  }

  Labels summed(const Operand& operand, const Labels& kept) const {
    Labels result;
    for (int label : operand.labels) {
      if (!has(kept, label)) result.push_back(label);
    }
    return result;
  }

  std::int64_t stride_of(const Operand& operand, int label) const {
    const auto found = std::find(operand.labels.begin(), operand.labels.end(), label);
    return found == operand.labels.end() ? 0 : operand.strides[found - operand.labels.begin()];
  }

  bool lies_as(const Operand& operand, const Labels& order) const {
    std::int64_t stride = 1;
    for (std::size_t back = order.size(); back-- > 0;) {
      if (size(order[back]) != 1 && stride_of(operand, order[back]) != stride) return false;
      stride *= size(order[back]);
    }
    return true;
  }

  EinsumPlace new_place(std::int64_t elements) {
    const EinsumPlace place{.is_input = false, .at = plan_.work_elements};
    plan_.work_elements += elements;
    return place;
  }

  // The operand in this order without gaps, `sums` summed away; where it is when it lies so already.
  EinsumPlace arrange(const Operand& operand, const Labels& order, const Labels& sums) {
    if (sums.empty() && lies_as(operand, order)) return operand.place;
    EinsumStep step;
    step.copy.from = operand.place;
    step.copy.results = count(order);
    step.copy.to = new_place(step.copy.results);
    step.copy.inner = count(sums);
    step.copy.dims = dims(order + sums);
    for (int label : order + sums) step.copy.strides.push_back(stride_of(operand, label));
    plan_.steps.push_back(step);
    return plan_.steps.back().copy.to;
  }

  Operand without_gaps(EinsumPlace place, Labels labels) const {
    Operand operand{.place = place, .labels = std::move(labels)};
    std::int64_t stride = 1;
    for (std::size_t back = operand.labels.size(); back-- > 0;) {
      operand.strides.insert(operand.strides.begin(), stride);
      stride *= size(operand.labels[back]);
    }
    return operand;
  }

  // Without the labels that nobody else has.
  Operand reduced(const Operand& operand, const Labels& kept) {
    const Labels gone = summed(operand, kept);
    if (gone.empty()) return operand;
    Labels rest;
    for (int label : operand.labels) {
      if (has(kept, label)) rest.push_back(label);
    }
    return without_gaps(arrange(operand, rest, gone), rest);
  }

  Operand contract(const Operand& given_a, const Operand& given_b, const Labels& later) {
    const Operand a = reduced(given_a, later + given_b.labels);
    const Operand b = reduced(given_b, later + given_a.labels);
    Labels batch, contracted, rows, columns;
    for (int label : a.labels) {
      (has(b.labels, label) ? (has(later, label) ? batch : contracted) : rows).push_back(label);
    }
    for (int label : b.labels) {
      if (!has(a.labels, label)) columns.push_back(label);
    }
    EinsumStep step{.is_product = true};
    Product& product = step.product.product;
    product = {.m = count(rows), .n = count(columns), .k = count(contracted)};
    product.transpose_a = !lies_as(a, batch + rows + contracted) && lies_as(a, batch + contracted + rows);
    product.transpose_b =
        !lies_as(b, batch + contracted + columns) && lies_as(b, batch + columns + contracted);
    step.product.batch = count(batch);
    step.product.a =
        arrange(a, product.transpose_a ? batch + contracted + rows : batch + rows + contracted, {});
    step.product.b =
        arrange(b, product.transpose_b ? batch + columns + contracted : batch + contracted + columns, {});
    const Labels order = batch + rows + columns;
    step.product.to = new_place(count(order));
    plan_.steps.push_back(step);
    return without_gaps(step.product.to, order);
  }

  Dims sizes_;
  Labels output_;
  std::vector<Operand> operands_;
  EinsumPlan plan_;
};

}  // namespace

EinsumPlan plan_einsum(const ir::EinsumEquation& equation, const std::vector<Dims>& inputs) {
  return Planner(equation, inputs).plan();
}

}  // namespace podium::kernels
