// An Einsum as strided copies, sums of rows and products of matrices, decided before the run.
#pragma once

#include <vector>

#include "executor/kernels/tools/gemm.h"
#include "ir/ops/einsum_equation.h"

namespace podium::kernels {

/// A tensor of the computation: an input of the op (`at` is its number) or a place in the work memory
/// (`at` is its first element).
struct EinsumPlace {
  bool is_input = false;
  std::int64_t at = 0;
};

/// Gathers `from` by strides into rows without gaps; each row of `inner` elements is summed to one when
/// `sums`.
struct EinsumCopy {
  EinsumPlace from;
  EinsumPlace to;
  ir::Dims dims;
  ir::Dims strides;
  std::int64_t results = 1;
  std::int64_t inner = 1;  ///< elements that one result sums
};

/// `batch` products without gaps between them.
struct EinsumProduct {
  EinsumPlace a;
  EinsumPlace b;
  EinsumPlace to;
  std::int64_t batch = 1;
  Product product;
};

struct EinsumStep {
  bool is_product = false;
  EinsumCopy copy = {};
  EinsumProduct product = {};
};

struct EinsumPlan {
  std::vector<EinsumStep> steps;
  EinsumPlace result;
  std::int64_t work_elements = 0;
};

EinsumPlan plan_einsum(const ir::EinsumEquation& equation, const std::vector<ir::Dims>& inputs);

}  // namespace podium::kernels
