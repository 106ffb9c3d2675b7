// Features to features: extraction, thresholds, replacement, norms, scales.
// Rows are the last axis; a list of parameters shorter than a row repeats its last number (by_column). Norms
// are computed in double. FeatureVectorizer puts its inputs side by side, each cut or filled to its width.
#include <algorithm>
#include <cmath>

#include "executor/kernels/cast.h"
#include "executor/kernels/families.h"
#include "executor/kernels/ml/ml.h"
#include "executor/kernels/ml/ml_maps.h"
#include "executor/kernels/tools/elementwise.h"

namespace podium::kernels {
namespace {

using ir::FloatList;
using ir::IntList;

template <class T>
void extract(const RunContext& run) {
  const Tensor& x = run.input(0);
  const auto indices = run.input(1).values<std::int64_t>();
  const std::int64_t width = x.dims().back();
  for (std::int64_t index : indices) {
    if (index < 0 || index >= width) throw Error("index {} is outside [0, {})", index, width);
  }
  T* y = run.output(0).data<T>();
  for (std::int64_t first = 0; first < x.size(); first += width) {
    for (std::int64_t index : indices) *y++ = x.data<T>()[first + index];
  }
}

PreparedKernel array_feature_extractor(PrepareContext& context) {
  return dispatch<float, double, std::int64_t, std::int32_t, std::string>(
      context.element(0), [](auto tag) { return PreparedKernel(extract<decltype(tag)>); });
}

PreparedKernel binarizer(PrepareContext& context) {
  const float threshold = context.get_float("threshold");
  return dispatch<float, double, std::int64_t, std::int32_t>(context.element(0), [threshold](auto tag) {
    using T = decltype(tag);
    using Wide = std::conditional_t<std::is_same_v<T, float>, float, double>;
    return map_kernel<T, T>(
        [threshold](T x) { return static_cast<Wide>(x) > static_cast<Wide>(threshold) ? 1 : 0; });
  });
}

// Calls f(column, element) for each element; columns count along the last dimension.
template <class T, class F>
PreparedKernel by_column(F f) {
  return [f](const RunContext& run) {
    const Tensor& x = run.input(0);
    const std::int64_t width = x.rank() == 0 ? 1 : x.dims().back();
    const T* in = x.data<T>();
    T* out = run.output(0).data<T>();
    for (std::int64_t first = 0; first < x.size(); first += width) {
      for (std::int64_t i = 0; i < width; ++i) out[first + i] = f(i, in[first + i]);
    }
  };
}

template <class T, class List, class Replaced>
PreparedKernel impute(const List& values, Replaced replaced) {
  if (values.empty())
    throw Error("there are no imputed values for elements of type {}", name_of(ir::data_type_of<T>));
  const bool replaces_nan = std::isnan(static_cast<double>(replaced));
  return by_column<T>([values, replaced, replaces_nan](std::size_t column, T x) {
    const bool missing = replaces_nan ? x != x : x == static_cast<T>(replaced);
    return missing ? static_cast<T>(values[std::min(column, values.size() - 1)]) : x;
  });
}

PreparedKernel imputer(PrepareContext& context) {
  return dispatch<float, double, std::int64_t, std::int32_t>(context.element(0), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_floating_point_v<T>) {
      return impute<T>(list_or_empty<FloatList>(context, "imputed_value_floats"),
                       context.get_float("replaced_value_float"));
    } else {
      return impute<T>(list_or_empty<IntList>(context, "imputed_value_int64s"),
                       context.get_int("replaced_value_int64"));
    }
  });
}

enum class Norm : std::uint8_t { Max, L1, L2 };

Norm norm_named(const std::string& name) {
  if (name == "MAX") return Norm::Max;
  if (name == "L1") return Norm::L1;
  if (name == "L2") return Norm::L2;
  throw Error("norm is \"{}\", MAX, L1 or L2 needed", name);
}

double norm_of(std::span<const double> row, Norm norm) {
  double largest = 0;
  for (double x : row) largest = std::max(largest, std::fabs(x));
  if (largest == 0) return 0;
  // Max is the largest number, not the largest magnitude.
  if (norm == Norm::Max) return *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (double x : row) sum += norm == Norm::L1 ? std::fabs(x) : (x / largest) * (x / largest);
  return norm == Norm::L1 ? sum : largest * std::sqrt(sum);
}

// A row of zeros stays one.
PreparedKernel normalizer(PrepareContext& context) {
  return [norm = norm_named(context.get_string("norm"))](const RunContext& run) {
    const Tensor& x = run.input(0);
    Tensor wide(DataType::Double, x.dims());
    convert_numbers(x, wide, 0, x.size(), {});
    const std::size_t width = x.rank() == 0 ? 1 : x.dims().back();
    const auto values = wide.values<double>();
    float* y = run.output(0).data<float>();
    for (std::size_t first = 0; first < values.size(); first += width) {
      const auto row = values.subspan(first, width);
      const double length = norm_of(row, norm);
      for (double number : row) *y++ = static_cast<float>(length == 0 ? number : number / length);
    }
  };
}

PreparedKernel scaler(PrepareContext& context) {
  auto offset = list_or_empty<FloatList>(context, "offset");
  auto scale = list_or_empty<FloatList>(context, "scale");
  if (offset.empty()) offset = {0};
  if (scale.empty()) scale = {1};
  return [offset, scale](const RunContext& run) {
    const Tensor& x = run.input(0);
    const std::int64_t width = x.rank() == 0 ? 1 : x.dims().back();
    float* y = run.output(0).data<float>();
    Tensor& out = run.output(0);
    convert_numbers(x, out, 0, x.size(), {});
    for (std::int64_t first = 0; first < x.size(); first += width) {
      for (std::int64_t i = 0; i < width; ++i) {
        const std::size_t column = i;
        const float shift = offset[std::min(column, offset.size() - 1)];
        y[first + i] = (y[first + i] - shift) * scale[std::min(column, scale.size() - 1)];
      }
    }
  };
}

// Each input is cut or filled with zeros to its number of columns.
PreparedKernel feature_vectorizer(PrepareContext& context) {
  return [given = list_or_empty<IntList>(context, "inputdimensions")](const RunContext& run) {
    Tensor& y = run.output(0);
    const std::int64_t width = y.dim(1);
    std::fill_n(y.data<float>(), y.size(), 0.0F);
    std::int64_t start = 0;
    for (std::size_t i = 0; i < run.inputs.size(); ++i) {
      const Tensor& x = run.input(i);
      const std::int64_t own = x.rank() == 2 ? x.dim(1) : 1;
      const std::int64_t wanted = given.empty() ? own : given[i];
      Tensor floats(DataType::Float, x.dims());
      convert_numbers(x, floats, 0, x.size(), {});
      for (std::int64_t row = 0; row < y.dim(0); ++row) {
        std::copy_n(floats.data<float>() + row * own, std::min(own, wanted),
                    y.data<float>() + row * width + start);
      }
      start += wanted;
    }
  };
}

}  // namespace

std::span<const KernelSpec> ml_preprocess_kernels() {
  static const std::vector<KernelSpec> kKernels = [] {
    std::vector<KernelSpec> all{
        {.name = "ArrayFeatureExtractor", .prepare = array_feature_extractor, .domain = "ai.onnx.ml"},
        {.name = "Binarizer", .prepare = binarizer, .domain = "ai.onnx.ml", .in_place = 1},
        {.name = "FeatureVectorizer", .prepare = feature_vectorizer, .domain = "ai.onnx.ml"},
        {.name = "Imputer", .prepare = imputer, .domain = "ai.onnx.ml", .in_place = 1},
        {.name = "Normalizer", .prepare = normalizer, .domain = "ai.onnx.ml"},
        {.name = "Scaler", .prepare = scaler, .domain = "ai.onnx.ml"},
    };
    const auto maps = ml_map_kernels();
    all.insert(all.end(), maps.begin(), maps.end());
    return all;
  }();
  return kKernels;
}

}  // namespace podium::kernels
