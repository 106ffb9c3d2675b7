#include "ir/ops/common.h"
#include "ir/ops/families.h"

namespace podium::ir {

namespace {

OpSpec softmax_row(std::string_view name, WorkFunction work) {
  return {.name = name,
          .since = 13,
          .inputs = {{"input"}},
          .outputs = {{"output"}},
          .types = {{'T', kFloats}},
          .attributes = {with_default("axis", std::int64_t{-1})},
          .infer = infer_along_axis,
          .work = work,
          .in_place = kFirstInput,
          .samples = along_attribute};
}

}  // namespace

std::span<const OpSpec> softmax_ops() {
  OpSpec hardmax = softmax_row("Hardmax", work_per_element<1>);
  hardmax.no_gradient = "its derivative is 0 wherever it has one";
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Normalizing}, {
                                                      softmax_row("Softmax", work_per_element<4>),
                                                      softmax_row("LogSoftmax", work_per_element<4>),
                                                      hardmax,
                                                  });
  return kRows;
}

}  // namespace podium::ir
