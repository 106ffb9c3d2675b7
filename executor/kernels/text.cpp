// Kernels on strings; TfIdfVectorizer is in tf_idf.cpp.
// Splitting without a delimiter follows Python: runs of spaces divide, leading ones are dropped. Widths are
// known only after the whole tensor is split, so StringSplit and StringNormalizer give outputs of their own
// making. Changes of case go by a locale's rules (CaseRules), regular expressions by RE2.
#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "executor/kernels/families.h"
#include "executor/kernels/text_case.h"
#include "executor/kernels/tf_idf.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {
namespace {

// Strides that stay where a dimension of 1 or a missing one is stretched to `dims`.
Dims stretched_strides(const Dims& from, const Dims& dims) {
  const Dims own = strides_of(from);
  Dims strides(dims.size(), 0);
  const std::size_t missing = dims.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1) strides[missing + i] = own[i];
  }
  return strides;
}

PreparedKernel string_concat(PrepareContext& context) {
  const Dims dims = context.output(0).dims;
  const Dims left = stretched_strides(context.dims(0), dims);
  const Dims right = stretched_strides(context.dims(1), dims);
  return [dims, left, right](const RunContext& run) {
    const auto* a = run.input(0).data<std::string>();
    const auto* b = run.input(1).data<std::string>();
    auto* out = run.output(0).data<std::string>();
    for (StridedWalk<2> walk(dims, {left, right}); walk.more(); walk.next()) {
      *out++ = a[walk.offset(0)] + b[walk.offset(1)];
    }
  };
}

constexpr std::string_view kSpaces = " \t\n\v\f\r";

// Splits at runs of spaces. Spaces at the start are dropped, spaces at the end only when all splits are done.
std::vector<std::string> split_at_spaces(std::string_view text, std::int64_t most) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kSpaces);
    if (begin == std::string_view::npos) return parts;
    text.remove_prefix(begin);
    if (std::ssize(parts) == most) break;
    const std::size_t end = std::min(text.find_first_of(kSpaces), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  parts.emplace_back(text);
  return parts;
}

std::vector<std::string> split_at(std::string_view text, std::string_view delimiter, std::int64_t most) {
  std::vector<std::string> parts;
  while (std::ssize(parts) != most) {
    const std::size_t end = text.find(delimiter);
    if (end == std::string_view::npos) break;
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
  parts.emplace_back(text);
  return parts;
}

PreparedKernel string_split(PrepareContext& context) {
  const auto* given = context.get_if<std::string>("delimiter");
  const std::string delimiter = given == nullptr ? "" : *given;
  const auto* limit = context.get_if<std::int64_t>("maxsplit");
  const std::int64_t most = limit == nullptr || *limit < 0 ? -1 : *limit;
  return [delimiter, most](const RunContext& run) {
    const Tensor& x = run.input(0);
    std::vector<std::vector<std::string>> rows;
    std::size_t widest = 0;
    for (const std::string& text : x.values<std::string>()) {
      rows.push_back(delimiter.empty() ? split_at_spaces(text, most) : split_at(text, delimiter, most));
      widest = std::max(widest, rows.back().size());
    }
    if (run.has_output(1)) {
      std::transform(rows.begin(), rows.end(), run.output(1).data<std::int64_t>(),
                     [](const auto& row) { return std::ssize(row); });
    }
    if (!run.has_output(0)) return;
    Dims dims = x.dims();
    dims.push_back(widest);
    Tensor result(DataType::String, dims);
    auto* out = result.data<std::string>();
    for (auto& row : rows) {
      std::move(row.begin(), row.end(), out);
      out += widest;
    }
    run.set(0, std::move(result));
  };
}

struct Normalizer {
  CaseRules rules;
  std::string action;
  bool case_sensitive;
  std::set<std::string> stopwords;  // in lower case unless case_sensitive

  bool is_stopword(const std::string& word) const {
    if (stopwords.empty()) return false;
    return stopwords.contains(case_sensitive ? word : rules.changed(word, Case::Lower));
  }
  std::string normalized(const std::string& word) const {
    if (action == "NONE") return word;
    return rules.changed(word, action == "LOWER" ? Case::Lower : Case::Upper);
  }
};

PreparedKernel string_normalizer(PrepareContext& context) {
  const auto* locale = context.get_if<std::string>("locale");
  Normalizer normalizer{CaseRules(locale == nullptr ? "en_US" : *locale),
                        context.get_string("case_change_action"),
                        context.get_int("is_case_sensitive") != 0,
                        {}};
  if (const auto* words = context.get_if<ir::StringList>("stopwords")) {
    for (const std::string& word : *words) {
      normalizer.stopwords.insert(normalizer.case_sensitive ? word
                                                            : normalizer.rules.changed(word, Case::Lower));
    }
  }
  return [normalizer](const RunContext& run) {
    std::vector<std::string> kept;
    for (const std::string& word : run.input(0).values<std::string>()) {
      if (!normalizer.is_stopword(word)) kept.push_back(normalizer.normalized(word));
    }
    if (kept.empty()) kept.emplace_back();  // nothing left is shown as one empty string
    Dims dims = run.input(0).dims();
    dims.back() = std::ssize(kept);
    run.set(0, Tensor::of(std::move(dims), kept));
  };
}

PreparedKernel regex_full_match(PrepareContext& context) {
  const auto* pattern = context.get_if<std::string>("pattern");
  RE2::Options options;
  options.set_log_errors(false);
  const auto expression = std::make_shared<const RE2>(pattern == nullptr ? "" : *pattern, options);
  if (!expression->ok()) throw Error("pattern '{}': {}", expression->pattern(), expression->error());
  return [expression](const RunContext& run) {
    const auto texts = run.input(0).values<std::string>();
    std::transform(texts.begin(), texts.end(), run.output(0).data<bool>(),
                   [&](const std::string& text) { return RE2::FullMatch(text, *expression); });
  };
}

}  // namespace

std::span<const KernelSpec> text_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "StringConcat", .prepare = string_concat},
      {.name = "StringSplit", .prepare = string_split},
      {.name = "StringNormalizer", .prepare = string_normalizer},
      {.name = "RegexFullMatch", .prepare = regex_full_match},
      {.name = "TfIdfVectorizer", .prepare = tf_idf},
  };
  return kKernels;
}

}  // namespace podium::kernels
