// Ops on strings: n-grams of rows of words, and words made alike. Both rows say what is wrong with their
// attributes before a kernel sees them, and how many look-ups there may be.
#include <algorithm>
#include <limits>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/movement.h"

namespace podium::ir {
namespace {

void infer_string_split(InferContext& context) {
  Type counts = context.input(0);
  counts.element = DataType::Int64;
  context.set_output(1, counts);
  if (!context.has_rank(0)) return context.set_output_element(0, DataType::String);
  Dims dims = context.dims(0);
  dims.push_back(kUnknown);
  context.set_output(0, DataType::String, std::move(dims));
}

void infer_string_normalizer(InferContext& context) {
  const std::string& action = context.get_string("case_change_action");
  if (action != "NONE" && action != "LOWER" && action != "UPPER") {
    throw Error("case_change_action is '{}', NONE, LOWER or UPPER needed", action);
  }
  if (!context.has_rank(0)) return context.set_output_element(0, DataType::String);
  Dims dims = context.dims(0);
  if (dims.empty() || dims.size() > 2 || (dims.size() == 2 && dims[0] != 1 && dims[0] != kUnknown)) {
    throw Error("input is {}, shape [C] or [1,C] needed", to_string(context.input(0)));
  }
  dims.back() = kUnknown;
  if (dims.size() == 2) dims.front() = 1;
  context.set_output(0, DataType::String, std::move(dims));
}

void infer_regex_full_match(InferContext& context) {
  Type type = context.input(0);
  type.element = DataType::Bool;
  context.set_output(0, type);
}

void check_grams(const InferContext& context) {
  const std::string& mode = context.get_string("mode");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    throw Error("mode is '{}', TF, IDF or TFIDF needed", mode);
  const std::int64_t shortest = context.get_int("min_gram_length");
  const std::int64_t longest = context.get_int("max_gram_length");
  if (shortest < 1 || longest < shortest) throw Error("gram lengths are {} to {}", shortest, longest);
  if (context.get_int("max_skip_count") < 0) throw Error("max_skip_count is negative");
  const IntList& columns = context.get<IntList>("ngram_indexes");
  if (columns.empty()) throw Error("ngram_indexes is empty");
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max() - 1;  // there is one column more
  for (std::int64_t column : columns) {
    if (column < 0 || column > kLast) throw Error("ngram_indexes has {}, 0 to {} needed", column, kLast);
  }
}

void infer_tf_idf(InferContext& context) {
  check_grams(context);
  const IntList& columns = context.get<IntList>("ngram_indexes");
  const std::int64_t width = *std::max_element(columns.begin(), columns.end()) + 1;
  if (!context.has_rank(0)) return context.set_output_element(0, DataType::Float);
  const Dims& dims = context.dims(0);
  if (dims.size() > 2) throw Error("input is {}, shape [C] or [N,C] needed", to_string(context.input(0)));
  context.set_output(0, DataType::Float, dims.size() == 2 ? Dims{dims[0], width} : Dims{width});
}

// From each word of a row the n-grams are looked for, with each number of words skipped.
Work work_of_grams(const TypedOp& op) {
  const Dims& dims = op.dims(0);
  const double words = dims.empty() ? 1 : static_cast<double>(dims.back());
  const auto at_most_words = [&](std::string_view count) {
    return std::min(static_cast<double>(op.get_int(count)), words);
  };
  const double looked_up = static_cast<double>(element_count(dims)) * (at_most_words("max_skip_count") + 1) *
                           at_most_words("max_gram_length");
  return {.flop = looked_up, .bytes = io_bytes(op)};
}

constexpr std::string_view kText = "text has no gradient";

OpSpec tf_idf_row() {
  return {
      .name = "TfIdfVectorizer",
      .since = 9,
      .gained = 9,
      .inputs = {{"X"}},
      .outputs = {{"Y", 'F'}},
      .types = {{'T', kString | kIndices}, {'F', TypeSet{DataType::Float}}},
      .attributes = {must_have("max_gram_length", AttributeKind::Int),
                     must_have("max_skip_count", AttributeKind::Int),
                     must_have("min_gram_length", AttributeKind::Int),
                     must_have("mode", AttributeKind::String), must_have("ngram_counts", AttributeKind::Ints),
                     must_have("ngram_indexes", AttributeKind::Ints),
                     may_have("pool_int64s", AttributeKind::Ints),
                     may_have("pool_strings", AttributeKind::Strings),
                     may_have("weights", AttributeKind::Floats)},
      .infer = infer_tf_idf,
      .work = work_of_grams,
      .no_gradient = kText};
}

OpSpec string_normalizer_row() {
  return {.name = "StringNormalizer",
          .since = 10,
          .gained = 10,
          .inputs = {{"X"}},
          .outputs = {{"Y"}},
          .types = {{'T', kString}},
          .attributes = {with_default("case_change_action", std::string("NONE")),
                         with_default("is_case_sensitive", std::int64_t{0}),
                         may_have("locale", AttributeKind::String),
                         may_have("stopwords", AttributeKind::Strings)},
          .infer = infer_string_normalizer,
          .work = work_of_moving,
          .no_gradient = kText};
}

}  // namespace

std::span<const OpSpec> text_ops() {
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Plain, .no_samples = kNotWorkedOut},
             {
                 {.name = "StringConcat",
                  .since = 20,
                  .gained = 20,
                  .inputs = {{"X"}, {"Y"}},
                  .outputs = {{"Z"}},
                  .types = {{'T', kString}},
                  .infer = broadcast_inputs,
                  .work = work_of_moving,
                  .no_gradient = kText},
                 {.name = "StringSplit",
                  .since = 20,
                  .gained = 20,
                  .inputs = {{"X"}},
                  .outputs = {{"Y"}, {"Z", 'I'}},
                  .types = {{'T', kString}, {'I', kInt64}},
                  .attributes = {may_have("delimiter", AttributeKind::String),
                                 may_have("maxsplit", AttributeKind::Int)},
                  .infer = infer_string_split,
                  .work = work_of_moving,
                  .no_gradient = kText},
                 string_normalizer_row(),
                 {.name = "RegexFullMatch",
                  .since = 20,
                  .gained = 20,
                  .inputs = {{"X"}},
                  .outputs = {{"Y", 'B'}},
                  .types = {{'T', kString}, {'B', kBool}},
                  .attributes = {may_have("pattern", AttributeKind::String)},
                  .infer = infer_regex_full_match,
                  .work = work_of_moving,
                  .no_gradient = kText},
                 tf_idf_row(),
             });
  return kRows;
}

}  // namespace podium::ir
