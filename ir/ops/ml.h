// What the rows of ai.onnx.ml share.
#pragma once

#include "ir/infer.h"
#include "ir/op_spec.h"
#include "ir/ops/samples.h"

namespace podium::ir {

inline constexpr std::string_view kMlDomain = "ai.onnx.ml";
inline constexpr TypeSet kMlNumbers{DataType::Float, DataType::Double, DataType::Int64, DataType::Int32};
inline constexpr TypeSet kMlLabels{DataType::Int64, DataType::String};

/// The classical ops take a matrix with a sample in each row; a vector is one sample.
bool rows_of_features(const SampledOp& op);

/// Rows of input 0, which has one row when it has one dimension; kUnknown when that is not known. Error when
/// it has neither one nor two dimensions.
std::int64_t ml_rows(const InferContext& context);
/// Columns of input 0, as ml_rows counts rows.
std::int64_t ml_columns(const InferContext& context);
/// An integer attribute that counts something. Error when it is negative.
std::int64_t ml_count(const InferContext& context, std::string_view name);
/// Length of a list attribute, 0 when it is absent.
std::int64_t ml_length(const TypedOp& op, std::string_view name);
/// Gives output 0 one label per row, of the labels' type. Gives the number of labels.
std::int64_t infer_labels(InferContext& context, std::string_view ints_name);

}  // namespace podium::ir
