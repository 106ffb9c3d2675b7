// How a tensor crosses follows from its tiles and its exchange strategy: over the IO tiles or not, and just
// in time or beside the computation of another micro-batch. A cycle where both is so, for micro-batch m:
//
//   tiles in    IO tiles -> compute tiles     of m        the input that came a cycle ago
//   beside      host -> IO tiles              of m + 1    while ...
//               IO tiles -> host              of m - 1
//   steps       what a strategy does          of m        ... this runs
//   tiles out   compute tiles -> IO tiles     of m
//
// With OverlapLoops the first load of a batch comes beside the last computation of the batch before, and the
// last store leaves beside the first computation of the batch behind. So the IO tiles need one buffer a
// tensor. Sums over micro-batches are made on the processor: zero before the first, an addition in each, a
// store behind the last.
#include "executor/lower/draft/host_io.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "ir/annotation.h"
#include "ir/builder.h"

namespace podium::lower {

using executor::Block;
using executor::Buffer;
using executor::BufferId;
using executor::Compute;
using executor::CopyBetweenTiles;
using executor::LoadFromHost;
using executor::Memory;
using executor::Role;
using executor::Step;
using executor::StoreToHost;
using ir::ValueId;

namespace {

// How a tensor crosses.
struct Route {
  bool over_io_tiles = false;
  bool beside = false;          ///< the computation of another micro-batch
  bool across_batches = false;  ///< of another batch's, too
};

// A batch of one cycle leaves the batches as the only loop, the inner one. On the compute tiles nothing
// overlaps, and slots of a stash are those of one batch.
template <class Wanted>
Route route(const Wanted& own, const Draft& draft) {
  const Strategy& strategy = draft.strategy;
  const ir::ExchangeStrategy exchange = own.exchange.value_or(strategy.overlap_io);
  const bool beside = exchange != ir::ExchangeStrategy::JustInTime;
  const ir::TileSet tiles = own.tiles.value_or(beside ? ir::TileSet::IO : ir::TileSet::Compute);
  const bool over_io_tiles = tiles == ir::TileSet::IO && strategy.io_tiles > 0;
  const bool all_loops = exchange == ir::ExchangeStrategy::OverlapLoops || draft.facts.cycles == 1;
  return {over_io_tiles, beside, beside && over_io_tiles && all_loops};
}

Route route_of_input(const Draft& draft, ValueId value) {
  const auto found = draft.placement.inputs.find(draft.graph[draft.placed.known_to_host_as(value)].name);
  return route(found == draft.placement.inputs.end() ? ir::InputPlacement{} : found->second, draft);
}

// A value of `type` that an op without inputs makes: zero, or floats drawn with `seed`.
// Integers are zero: no other number is sure to be a legal index.
ir::Graph made_value(const std::string& name, const ir::Type& type, SyntheticData data, int seed) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const bool is_drawn = data == SyntheticData::RandomNormal || data == SyntheticData::RandomUniform;
  ir::Op op{.name = name, .outputs = {graph.add_value(name, type)}};
  if (is_drawn && ir::kFloats.contains(type.element)) {
    op.spec = ir::find_op("", data == SyntheticData::RandomNormal ? "RandomNormal" : "RandomUniform");
    ir::set_attribute(op, "shape", type.dims);
    ir::set_attribute(op, "dtype", static_cast<std::int64_t>(type.element));
    ir::set_attribute(op, "seed", static_cast<float>(seed));
  } else {
    ir::Tensor zero(type.element, {1});
    if (type.element != ir::DataType::String) std::memset(zero.raw(), 0, zero.bytes());
    op.spec = ir::find_op("", "ConstantOfShape");
    op.inputs = {builder.constant(ir::Tensor::ints(type.dims), "shape")};
    ir::set_attribute(op, "value", std::move(zero));
  }
  ir::set_attribute(op, ir::kLoadedWithProgram, std::int64_t{1});
  builder.output(op.outputs[0]);
  graph.ops.push_back(std::move(op));
  return graph;
}

ir::Graph sum_of(const std::string& name, const ir::Type& type) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ValueId sum = builder.input("sum", type);
  builder.output(builder.op("Add", {sum, builder.input(name, type)}));
  return graph;
}

void check_static(std::string_view what, const ir::Value& value) {
  if (value.type.is_static()) return;
  throw Error("{} '{}': {} found, a tensor whose shape is known before the run is needed", what, value.name,
              to_string(value.type));
}

}  // namespace

bool leaves_at_once(const Draft& draft, ValueId output) {
  const Route way = route(draft.anchor(output), draft);
  return way.over_io_tiles && !way.beside;
}

HostIo::HostIo(Draft& draft) : draft_(draft) {
  if (draft.strategy.synthetic_data != SyntheticData::Off) return;
  for (ValueId input : draft.graph.inputs) {
    if (route_of_input(draft, input).beside) first_cycle_ = 1;
  }
}

void HostIo::load(ValueId value, int processor, int offset, std::vector<TimedStep>& steps) {
  if (draft_.strategy.synthetic_data != SyntheticData::Off) return make_synthetic(value, processor);
  const Route route = route_of_input(draft_, value);
  const BufferId home = draft_.buffer(value, processor);
  const BufferId target =
      route.over_io_tiles ? draft_.buffer(value, processor, Memory::IO, Role::Stream) : home;
  const Step load{.action = LoadFromHost{draft_.input_index(value), {target}, draft_.host_part(value)}};
  if (route.beside) {
    beside_.steps.push_back(
        {offset - 1, load, route.across_batches ? AcrossBatches::FirstComesBefore : AcrossBatches::Stays});
  } else {
    steps.push_back({offset, load});
  }
  if (!route.over_io_tiles) return;
  std::vector<TimedStep>& into = route.beside ? beside_.tiles_in : steps;
  into.push_back({offset, {.action = CopyBetweenTiles{{{target}, {home}}}}});
}

void HostIo::store(ValueId value, int processor, int offset, std::vector<TimedStep>& steps) {
  if (draft_.output_indices(value).empty()) return;
  const Anchor anchor = draft_.anchor(value);
  if (anchor.returns == AnchorReturn::Sum) return steps.push_back({offset, add_up(value, processor)});
  const Route way = route(anchor, draft_);
  BufferId source = draft_.buffer(value, processor);
  if (way.over_io_tiles) {
    const BufferId home = source;
    source = draft_.buffer(value, processor, Memory::IO, Role::Stream);
    std::vector<TimedStep>& out = way.beside ? beside_.tiles_out : steps;
    out.push_back({offset, {.action = CopyBetweenTiles{{{home}, {source}}}}});
  }
  for (int output : draft_.output_indices(value)) {
    const Step store{.action = StoreToHost{{source}, output, draft_.host_part(value)}};
    if (way.beside) {
      beside_.steps.push_back(
          {offset + 1, store, way.across_batches ? AcrossBatches::LastLeavesAfter : AcrossBatches::Stays});
    } else {
      steps.push_back({offset, store});
    }
  }
}

void HostIo::store(ValueId value, int processor, std::vector<Step>& steps) {
  if (draft_.output_indices(value).empty()) return;
  if (draft_.anchor(value).returns == AnchorReturn::Sum) return steps.push_back(add_up(value, processor));
  for (int output : draft_.output_indices(value)) {
    steps.push_back(
        {.action = StoreToHost{{draft_.buffer(value, processor)}, output, draft_.host_part(value)}});
  }
}

void HostIo::load_once(ValueId value, int processor) {
  const executor::Slot target{draft_.buffer(value, processor)};
  const auto [first, is_new] = loaded_once_.emplace(value, processor);
  if (draft_.strategy.synthetic_data != SyntheticData::Off) {
    make_synthetic(value, processor);
  } else if (is_new) {
    before_.push_back({.action = LoadFromHost{draft_.input_index(value), target}});
  } else {
    before_.push_back(
        {.action = executor::CopyBetweenProcessors{{{{draft_.buffer(value, first->second)}, target}}}});
  }
}

Beside HostIo::take_beside() { return std::exchange(beside_, {}); }

std::vector<Step> HostIo::run(Cycle cycle, std::vector<Step> update) {
  std::vector<TimedStep>& first = cycle.front().steps;
  first.insert(first.begin(), std::make_move_iterator(beside_.steps.begin()),
               std::make_move_iterator(beside_.steps.end()));
  first.insert(first.begin(), std::make_move_iterator(beside_.tiles_in.begin()),
               std::make_move_iterator(beside_.tiles_in.end()));
  std::vector<TimedStep>& last = cycle.back().steps;
  std::move(beside_.tiles_out.begin(), beside_.tiles_out.end(), std::back_inserter(last));
  const Facts& facts = draft_.facts;
  return between_once(
      unroll(draft_.program, std::move(cycle),
             {.count = facts.batches, .micro_batches = facts.cycles, .update = std::move(update)}));
}

std::vector<Step> HostIo::run(std::vector<Step> steps, std::vector<Step> update) {
  std::move(update.begin(), update.end(), std::back_inserter(steps));
  if (draft_.facts.batches > 1) {
    executor::Repeat batches{.count = draft_.facts.batches, .body = std::move(steps)};
    steps.clear();
    steps.push_back({.action = std::move(batches)});
  }
  return between_once(std::move(steps));
}

std::vector<Step> HostIo::between_once(std::vector<Step> steps) {
  steps.insert(steps.begin(), std::make_move_iterator(before_.begin()),
               std::make_move_iterator(before_.end()));
  store_sums(steps);
  return steps;
}

void HostIo::make_synthetic(ValueId value, int processor) {
  const ir::Value& input = draft_.graph[value];
  check_static("synthetic input", input);
  const int seed = before_.size();
  const executor::BlockId block =
      draft_.add_block({.name = "make " + input.name,
                        .processor = processor,
                        .graph = made_value(input.name, input.type, draft_.strategy.synthetic_data, seed)});
  before_.push_back({.action = Compute{block, {}, {{draft_.buffer(value, processor)}}}});
}

// What the copies of the model have added up meets in the first one's sum, which goes to the host.
void HostIo::store_sums(std::vector<Step>& steps) {
  std::map<ValueId, BufferId> first;
  for (const Sum& one : sums_) first.try_emplace(draft_.placed.streamed_as(one.value), one.buffer);
  for (const Sum& one : sums_) {
    const BufferId into = first.at(draft_.placed.streamed_as(one.value));
    if (into == one.buffer) continue;
    Buffer brought = draft_.program[one.buffer];
    brought.processor = draft_.program[into].processor;
    const BufferId from = draft_.add_buffer(std::move(brought));
    const executor::BlockId add = draft_.add_block({.name = draft_.program[one.add].name,
                                                    .processor = draft_.program[into].processor,
                                                    .graph = draft_.program[one.add].graph});
    for (int i = 0; i < draft_.program[into].slots; ++i) {
      steps.push_back({.action = executor::CopyBetweenProcessors{{{{one.buffer, i}, {from, i}}}}});
      steps.push_back({.action = Compute{add, {{into, i}, {from, i}}, {{into, i}}}});
    }
  }
  for (const Sum& one : sums_) {
    if (first.at(draft_.placed.streamed_as(one.value)) != one.buffer) continue;
    for (int i = 0; i < draft_.program[one.buffer].slots; ++i) {
      for (int index : draft_.output_indices(one.value))
        steps.push_back({.action = StoreToHost{{one.buffer, i}, index}});
    }
  }
}

// Gives the step that adds to the sum.
Step HostIo::add_up(ValueId value, int processor) {
  const ir::Value& output = draft_.graph[value];
  check_static("sum of anchor", output);
  if (!ir::kNumeric.contains(output.type.element)) {
    throw Error("sum of anchor '{}': {} found, numbers are needed", output.name, to_string(output.type));
  }
  // Slices of a micro-batch add up each for itself, and so do copies of the model.
  const int slices = draft_.variables.slices(value);
  const BufferId sum = draft_.add_buffer({.name = output.name + "_sum",
                                          .type = output.type,
                                          .processor = processor,
                                          .role = Role::Accumulator,
                                          .slots = slices});
  const executor::BlockId zero =
      draft_.add_block({.name = "zero " + output.name,
                        .processor = processor,
                        .graph = made_value(output.name, output.type, SyntheticData::Zeros, 0)});
  const executor::BlockId add = draft_.add_block(
      {.name = "sum " + output.name, .processor = processor, .graph = sum_of(output.name, output.type)});
  const executor::Slot slice{sum, 0, slices > 1 ? 1 : 0};
  for (int i = 0; i < slices; ++i) before_.push_back({.action = Compute{zero, {}, {{sum, i}}}});
  sums_.push_back({value, sum, add});
  return {.action = Compute{add, {slice, {draft_.buffer(value, processor)}}, {slice}}};
}

}  // namespace podium::lower
