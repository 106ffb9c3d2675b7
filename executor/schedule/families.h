// The schedules that have a name: each a row with what it needs and the function that gives its orders.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "executor/schedule/clock.h"

namespace podium::schedule {

/// What a schedule is asked for.
struct Request {
  int processors = 1;
  int micro_batches = 1;  ///< of all copies of the model
  int chunks = 1;         ///< of each processor
  /// Weight gradients that a processor may put off, where the family defers; nothing: as many as that helps.
  std::optional<int> deferred = {};
  /// What the list scheduler goes by, and by the times lockstep in halves: how long passes take, and for how
  /// many micro-batches each processor has room. Nothing: all take as long, and there is room for what 1F1B
  /// holds.
  Times times = {};
  std::vector<double> room = {};
};

/// What a schedule makes of backward passes.
enum class Backward : std::uint8_t { Whole, Split };

/// Whether it can be asked how many weight gradients a processor puts off.
enum class Deferral : std::uint8_t { Fixed, Chosen };

struct Family {
  PipelineOrder order = PipelineOrder::Lockstep;
  std::string_view name;  ///< as users type it
  std::string_view rule;  ///< what it is, for people
  Shape shape = Shape::Loop;
  Backward backward = Backward::Whole;
  Superstep superstep = Superstep::Slot;
  /// Why it cannot be had; empty when it can.
  std::string (*why_not)(const Request&) = nullptr;
  Orders (*orders)(const Request&) = nullptr;
  Deferral deferral = Deferral::Fixed;
};

/// All, in the order in which they are tried.
std::span<const Family> families();
/// Nullptr when there is none of this name.
const Family* find_family(std::string_view name);
/// Not of a user's list, and not of Auto.
const Family& family_of(PipelineOrder order);

/// Error with the reason where the family cannot have what is asked for.
Schedule make_schedule(const Family& family, const Request& request);

/// The times of one chunk on each processor, where the request says none all the same.
Times times_of(const Request& request);

/// The orders, in the files of the same names. Micro-batches ascend in every chunk, so what waits is a queue.
Orders gpipe(const Request& request);
Orders one_forward_one_backward(const Request& request);
Orders lockstep(const Request& request);
Orders lockstep_split(const Request& request);
Orders zero_bubble_h1(const Request& request);
Orders zero_bubble_h2(const Request& request);
Orders interleaved(const Request& request);
Orders breadth_first(const Request& request);
Orders zero_bubble_v(const Request& request);
Orders v_half(const Request& request);
Orders v_min(const Request& request);
Orders dual_pipe(const Request& request);
Orders dual_pipe_v(const Request& request);
Orders chimera(const Request& request);
Orders list_scheduled(const Request& request);

}  // namespace podium::schedule
