// What would help a strategy, by the clock.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "executor/cli/contestants.h"
#include "executor/report/report.h"

namespace podium::cli {

/// Clocks every variation of the candidate; `elsewhere` is what it does itself on better machines, in their
/// order, or on none. The changes that fit and gain most come first.
std::vector<report::WhatIf> what_ifs(const Contestants& contestants, const compare::Candidate& candidate,
                                     const report::RunReport& run, std::vector<sim::Timeline> elsewhere);

/// What what_ifs can be given: each better machine by `clock`, which may be absent: then none.
std::vector<sim::Timeline> on_better_machines(
    const device::Device& device, const Options& options,
    const std::function<sim::Timeline(const device::Device&)>& clock);

/// Whether `compare` asks for what-ifs of its best strategy, on a graph of so many ops: where --explain or a
/// page asks, or where the graph is small on all devices that it is cut over. To clock a large one again and
/// again would take longer than what it explains.
bool explains_best(const Options& options, const report::RunReport& run, const Strategy& strategy,
                   std::size_t ops);

/// The three that help most, a line each; empty where nothing does.
std::string what_helps(const std::vector<report::WhatIf>& what_ifs);

/// What what_ifs_of_run can be given: the run's own Program on better machines, by `clock`. Empty where it
/// asks for none, and where the session computes and its Program is in the engine.
std::vector<sim::Timeline> on_better_machines(
    const Options& options, const report::RunReport& run, std::size_t ops,
    const std::function<sim::Timeline(const device::Device&)>& clock);

/// The same for the strategy of the command line, which has run on a graph of so many ops. They are asked for
/// by --explain; without, those of a graph of many ops would take longer than what they explain, and there
/// are none.
std::vector<report::WhatIf> what_ifs_of_run(const Options& options, const report::RunReport& run, Task task,
                                            std::size_t ops, std::vector<sim::Timeline> elsewhere);

}  // namespace podium::cli
