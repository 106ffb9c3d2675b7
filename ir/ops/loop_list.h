// What the rules of loops are written with, and their tables.
#pragma once

#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/ops/common.h"
#include "ir/ops/loops.h"

namespace podium::ir {

using LoopRule = std::vector<Loop> (*)(const TypedOp&);
using LoopRules = std::map<std::string_view, LoopRule>;

/// Convolutions, pools and whatever else has images, channels and places.
const LoopRules& image_loop_rules();
/// What looks up, orders or steps along some axes, and leaves others apart.
const LoopRules& lookup_loop_rules();

/// Collects loops of an op.
class LoopList {
 public:
  explicit LoopList(const TypedOp& op) : op_(op) {}

  /// A loop of `extent` iterations without an axis yet.
  Loop make(std::int64_t extent, LoopResult result = LoopResult::Apart) const {
    return {.extent = extent,
            .inputs = std::vector<LoopAxis>(op_.input_count()),
            .outputs = std::vector<LoopAxis>(op_.output_count()),
            .result = result};
  }
  void add(Loop loop) {
    if (loop.extent > 1) loops_.push_back(std::move(loop));
  }
  /// A loop with these axes of the first inputs and outputs, kNoAxis where it runs along none.
  void add(std::int64_t extent, std::initializer_list<int> inputs, std::initializer_list<int> outputs,
           LoopResult result = LoopResult::Apart) {
    Loop loop = make(extent, result);
    std::size_t i = 0;
    for (int axis : inputs) loop.inputs[i++].axis = axis;
    i = 0;
    for (int axis : outputs) loop.outputs[i++].axis = axis;
    add(std::move(loop));
  }
  /// A loop over the same axis of some inputs and of all outputs.
  void add_axis(int axis, std::initializer_list<std::size_t> inputs) {
    Loop loop = make(op_.input(*inputs.begin()).dims[axis]);
    for (std::size_t i : inputs) loop.inputs[i].axis = axis;
    for (LoopAxis& output : loop.outputs) output.axis = axis;
    add(std::move(loop));
  }
  std::vector<Loop> take() { return std::move(loops_); }

 private:
  const TypedOp& op_;
  std::vector<Loop> loops_;
};

}  // namespace podium::ir
