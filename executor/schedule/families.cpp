#include "executor/schedule/families.h"

#include <algorithm>
#include <array>

#include "ir/error.h"

namespace podium::schedule {
namespace {

std::string one_chunk(const Request& request) {
  if (request.chunks == 1) return "";
  return fmt::format("{} chunks on a processor found, 1 is needed", request.chunks);
}
std::string any_chunks(const Request& /*request*/) { return ""; }
std::string two_chunks(const Request& request) {
  if (request.chunks == 2) return "";
  return fmt::format("{} chunks on a processor found, 2 are needed", request.chunks);
}
std::string whole_groups(const Request& request) {
  const int groups = std::max(1, request.micro_batches / request.processors);
  if (request.micro_batches % groups == 0) return "";
  return fmt::format("{} micro-batches found, a multiple of {} is needed: they go in so many groups",
                     request.micro_batches, groups);
}
std::string twice_the_processors(const Request& request) {
  const std::string why = two_chunks(request);
  if (!why.empty() || request.micro_batches >= 2 * request.processors) return why;
  return fmt::format("{} micro-batches found, at least {} are needed: twice the processors",
                     request.micro_batches, 2 * request.processors);
}
std::string both_ways(const Request& request) {
  if (!one_chunk(request).empty()) return one_chunk(request);
  if (request.processors % 2 == 0) return "";
  return fmt::format("{} processors found, an even number is needed: micro-batches come from both ends",
                     request.processors);
}
std::string dual_pipe_needs(const Request& request) {
  if (!both_ways(request).empty()) return both_ways(request);
  if (request.micro_batches % 2 == 0 && request.micro_batches >= 2 * request.processors) return "";
  return fmt::format("{} micro-batches found, an even number of at least {} is needed: twice the processors",
                     request.micro_batches, 2 * request.processors);
}
std::string chimera_needs(const Request& request) {
  if (!both_ways(request).empty()) return both_ways(request);
  if (request.micro_batches % request.processors == 0) return "";
  return fmt::format("{} micro-batches found, a multiple of {} is needed: the processors",
                     request.micro_batches, request.processors);
}

using enum Shape;
using enum Backward;
using enum Superstep;
using enum Deferral;

constexpr auto kFamilies = std::to_array<Family>({
    {PipelineOrder::Lockstep, "lockstep", "every stage a cycle behind the one before it", Loop, Whole, Cycle,
     one_chunk, lockstep},
    {PipelineOrder::LockstepSplit, "lockstep-split", "lockstep; weight gradients wait until a cycle has room",
     Loop, Split, Cycle, one_chunk, lockstep_split, Chosen},
    {PipelineOrder::GPipe, "gpipe", "all forward passes, then all backward passes", Loop, Whole, Slot,
     one_chunk, gpipe},
    {PipelineOrder::OneForwardOneBackward, "1f1b", "forward and backward passes in turns", Loop, Whole, Slot,
     one_chunk, one_forward_one_backward},
    {PipelineOrder::Interleaved, "interleaved",
     "1F1B over several chunks on each processor, in groups of micro-batches", Loop, Whole, Slot,
     whole_groups, interleaved},
    {PipelineOrder::BreadthFirst, "breadth-first",
     "all micro-batches through a chunk, then through the next one", Loop, Whole, Slot, any_chunks,
     breadth_first},
    {PipelineOrder::ZeroBubbleH1, "zb-h1", "1F1B; weight gradients fill what is idle", Loop, Split, Slot,
     one_chunk, zero_bubble_h1, Chosen},
    {PipelineOrder::ZeroBubbleH2, "zb-h2",
     "zb-h1 with as many micro-batches on their way as leave nothing idle", Loop, Split, Slot, one_chunk,
     zero_bubble_h2, Chosen},
    {PipelineOrder::ZeroBubbleV, "zb-v",
     "two chunks on each processor in a V; weight gradients fill what is idle", V, Split, Slot, two_chunks,
     zero_bubble_v},
    {PipelineOrder::VHalf, "v-half", "a V that holds half of what 1F1B holds", V, Split, Slot, two_chunks,
     v_half},
    {PipelineOrder::VMin, "v-min", "a V that holds a third of what 1F1B holds", V, Split, Slot, two_chunks,
     v_min},
    {PipelineOrder::DualPipe, "dualpipe", "two copies of the model, micro-batches from both ends", TwoWay,
     Split, Slot, dual_pipe_needs, dual_pipe},
    {PipelineOrder::DualPipeV, "dualpipe-v", "dualpipe folded into a V", V, Split, Slot, twice_the_processors,
     dual_pipe_v},
    {PipelineOrder::Chimera, "chimera",
     "two copies of the model, units of as many micro-batches as processors", TwoWay, Whole, Slot,
     chimera_needs, chimera},
    {PipelineOrder::ListScheduled, "list",
     "each processor takes what can start at once; weight gradients where nothing can", Loop, Split, Slot,
     one_chunk, list_scheduled},
});

}  // namespace

std::span<const Family> families() { return kFamilies; }

const Family* find_family(std::string_view name) {
  for (const Family& family : kFamilies) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

const Family& family_of(PipelineOrder order) {
  for (const Family& family : kFamilies) {
    if (family.order == order) return family;
  }
  IR_CHECK(false, "a user's list and auto are no families");
}

Times times_of(const Request& request) {
  if (!request.times.of_chunk.empty()) return request.times;
  return even_times(layout_of(Loop, request.processors, 1));
}

Schedule make_schedule(const Family& family, const Request& request) {
  const std::string why = family.why_not(request);
  if (!why.empty()) throw Error("pipeline schedule {}: {}", family.name, why);
  Schedule schedule{.layout = layout_of(family.shape, request.processors, request.chunks),
                    .micro_batches = request.micro_batches / (family.shape == TwoWay ? 2 : 1),
                    .orders = family.orders(request),
                    .superstep = family.superstep};
  return schedule;
}

}  // namespace podium::schedule
