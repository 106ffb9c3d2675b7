#include "ir/random_draws.h"

#include <algorithm>

#include "ir/bodies.h"

namespace podium::ir {
namespace {

constexpr AttributeName kRandomStream = "__random_stream";
constexpr AttributeName kDrawnWhole = "__drawn_whole";
constexpr AttributeName kDrawnRanges = "__drawn_ranges";
constexpr AttributeName kDrawnSlices = "__drawn_slices";
constexpr AttributeName kDrawnSliceAxis = "__drawn_slice_axis";
constexpr AttributeName kDrawnCopies = "__drawn_copies";
constexpr AttributeName kDrawnCopy = "__drawn_copy";

// A row of two numbers for each range.
Tensor table_of(const std::vector<IndexRange>& ranges) {
  std::vector<std::int64_t> ends;
  for (const IndexRange& range : ranges) {
    ends.push_back(range.begin);
    ends.push_back(range.end);
  }
  return Tensor::ints(ends).reshaped({std::ssize(ranges), 2});
}

std::vector<IndexRange> ranges_in(const Tensor& table) {
  std::vector<IndexRange> ranges;
  const std::vector<std::int64_t> ends = table.to_ints();
  for (std::size_t i = 0; i + 1 < ends.size(); i += 2) ranges.push_back({ends[i], ends[i + 1]});
  return ranges;
}

bool draws_in(const Graph& body) {
  return std::ranges::any_of(body.ops, [](const Op& op) {
    bool found = op.spec->random;
    for_each_body(op, [&](std::string_view, const Graph& inner) { found = found || draws_in(inner); });
    return found;
  });
}

std::optional<std::int64_t> number_if(const Op& op, std::string_view name) {
  const auto* number = attribute_if<std::int64_t>(op, name);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

}  // namespace

Draws draws_of(const Op& op) {
  Draws draws{.stream = number_if(op, kRandomStream)};
  if (const auto* whole = attribute_if<IntList>(op, kDrawnWhole)) {
    draws.box = DrawnBox{.whole = *whole, .ranges = {}};
    for (const Tensor& table : attribute<std::vector<Tensor>>(op, kDrawnRanges))
      draws.box->ranges.push_back(ranges_in(table));
  }
  draws.slices = {number_if(op, kDrawnSlices).value_or(1), number_if(op, kDrawnSliceAxis)};
  draws.turn = {number_if(op, kDrawnCopies).value_or(1), number_if(op, kDrawnCopy).value_or(0)};
  return draws;
}

bool draws_in_turn(const Op& op) {
  bool found = op.spec->random && !draws_of(op).stream;
  for_each_body(op, [&](std::string_view, const Graph& body) {
    found = found || std::any_of(body.ops.begin(), body.ops.end(), draws_in_turn);
  });
  return found;
}

void edit_random_ops(Op& op, const std::function<void(Op&)>& edit) {
  if (op.spec->random) edit(op);
  if (!has_body(op)) return;
  edit_bodies(op, [&](Graph& body) {
    for (Op& inner : body.ops) edit_random_ops(inner, edit);
    return draws_in(body);
  });
}

void set_stream(Op& op, std::int64_t stream) { set_attribute(op, kRandomStream, stream); }

void set_box(Op& op, const DrawnBox& box) {
  std::vector<Tensor> tables;
  for (const auto& ranges : box.ranges) tables.push_back(table_of(ranges));
  set_attribute(op, kDrawnWhole, box.whole);
  set_attribute(op, kDrawnRanges, std::move(tables));
}

void set_slices(Op& op, const DrawnSlices& slices) {
  set_attribute(op, kDrawnSlices, slices.count);
  if (slices.axis) set_attribute(op, kDrawnSliceAxis, *slices.axis);
}

void set_turn(Op& op, const DrawnTurn& turn) {
  set_attribute(op, kDrawnCopies, turn.copies);
  set_attribute(op, kDrawnCopy, turn.copy);
}

}  // namespace podium::ir
