// Parts of the way are put together by processor and activity. What is named of such a group is its largest
// op or tensor, when it makes most of the group, else the group with its largest in brackets.
#include "executor/report/cause.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <ranges>
#include <set>
#include <tuple>

#include "executor/report/names.h"
#include "executor/report/report.h"
#include "executor/report/table.h"

namespace podium::report {
namespace {

using sim::Activity;
using sim::PathPart;

constexpr double kMostOf = 0.75;

// A group of parts, the largest of them first.
struct Group {
  double seconds = 0;
  std::vector<const PathPart*> parts = {};
  std::set<int> processors = {};
};

struct Verb {
  std::string_view before;  ///< the name
  std::string_view after;
};

Verb verb_of(Activity activity) {
  switch (activity) {
    case Activity::Compute:
      return {"computing", ""};
    case Activity::Exchange:
      return {"sending", ""};
    case Activity::Collective:
      return {"exchanging", " with its replicas"};
    case Activity::GroupCollective:
      return {"exchanging", " with the devices of its cut"};
    case Activity::TileCopy:
      return {"copying", " between its tiles"};
    case Activity::HostLoad:
      return {"loading", " from the host"};
    case Activity::HostStore:
      return {"storing", " to the host"};
    case Activity::RemoteLoad:
      return {"loading", " from streaming memory"};
    case Activity::RemoteStore:
      return {"storing", " to streaming memory"};
  }
  return {};
}

std::string receiver_of(const PathPart& part, device::ProcessorKind kind) {
  if (part.receiver < 0 || part.receiver == part.processor) return "";
  return " to " + name_of(kind, part.receiver);
}

// "3.91 MiB at 2.73 GiB/s"
std::string rate_of(const PathPart& part) {
  if (part.step_bytes <= 0 || part.step_seconds() <= 0) return "";
  return fmt::format("{} at {}/s", bytes(part.step_bytes), bytes(part.step_bytes / part.step_seconds()));
}

std::string share_of(const PathPart& part, double makespan) { return percentage(part.seconds / makespan); }

enum class Detail : std::uint8_t { Names, Rates };

std::string text_of(const Group& group, const sim::Timeline& timeline, Detail detail) {
  const PathPart& largest = *group.parts.front();
  const auto [before, after] = verb_of(largest.activity);
  // What one processor does is not what several do in turn, however much of it that is.
  const bool is_one = group.processors.size() == 1 && largest.seconds >= kMostOf * group.seconds;
  const std::string name = is_one ? " " + largest.name : "";
  const std::string where = fmt::format("{}{}", receiver_of(largest, timeline.kind), after);
  std::string text;
  if (group.processors.size() > 1) {
    text = fmt::format("{}{} on {} processors in turn", before, after, group.processors.size());
  } else {
    text = fmt::format("{} {}{}{}", name_of(timeline.kind, largest.processor), before, name, where);
  }
  if (detail == Detail::Names) return text;
  const std::string rate = is_one ? rate_of(largest) : "";
  const std::string most =
      is_one ? "" : fmt::format("the most for {}, {}", largest.name, share_of(largest, timeline.makespan));
  if (!rate.empty()) return text + fmt::format(" ({})", rate);
  return most.empty() ? text : text + fmt::format(" ({})", most);
}

// By processor and activity, and by activity alone where several processors have it.
std::vector<Group> groups_of(const sim::Timeline& timeline) {
  std::map<std::tuple<int, Activity>, Group> alone;
  std::map<Activity, Group> of_all;
  for (const PathPart& part : timeline.path) {
    for (Group* group : {&alone[{part.processor, part.activity}], &of_all[part.activity]}) {
      group->seconds += part.seconds;
      group->parts.push_back(&part);
      group->processors.insert(part.processor);
    }
  }
  std::vector<Group> groups;
  for (auto& [key, group] : alone) groups.push_back(std::move(group));
  const auto longer = [](const Group& a, const Group& b) { return a.seconds > b.seconds; };
  std::stable_sort(groups.begin(), groups.end(), longer);
  const double half = 0.5 * timeline.makespan;
  if (groups.empty() || groups.front().seconds >= half) return groups;
  for (auto& [activity, group] : of_all) {
    if (group.seconds >= half && group.processors.size() > 1) groups.insert(groups.begin(), std::move(group));
  }
  return groups;
}

std::string memory_bottleneck(const sim::Timeline& timeline) {
  const std::size_t fullest = fullest_processor(timeline);
  const sim::MemoryUse& memory = timeline.processors[fullest].memory;
  return fmt::format("{} of {}", memory.peak > memory.capacity ? "memory" : "streaming memory",
                     name_of(timeline.kind, fullest));
}

}  // namespace

std::vector<Cause> causes(const sim::Timeline& timeline) {
  std::vector<Cause> all;
  for (const Group& group : groups_of(timeline))
    all.push_back({text_of(group, timeline, Detail::Rates), group.seconds / timeline.makespan});
  return all;
}

std::string bottleneck(const sim::Timeline& timeline) {
  if (timeline.processors.empty()) return "nothing to do";
  if (!timeline.fits()) return memory_bottleneck(timeline);
  const std::vector<Group> groups = groups_of(timeline);
  double of_path = 0;
  for (const PathPart& part : timeline.path) of_path += part.seconds;
  const double call = timeline.makespan - of_path;
  if (groups.empty() || call > groups.front().seconds)
    return timeline.makespan > 0 ? fmt::format("the host's call, {}", percentage(call / timeline.makespan))
                                 : "nothing to do";
  return fmt::format("{}, {}", text_of(groups.front(), timeline, Detail::Names),
                     percentage(groups.front().seconds / timeline.makespan));
}

std::string cause_sentence(const sim::Timeline& timeline) {
  if (timeline.processors.empty() || timeline.makespan <= 0) return "";
  double of_path = 0;
  for (const PathPart& part : timeline.path) of_path += part.seconds;
  const double call = 1 - of_path / timeline.makespan;
  const std::vector<Cause> all = causes(timeline);
  if (all.empty() || call > all.front().share)
    return fmt::format("{} of the step is the host's call", percentage(call));
  return fmt::format("{} of the step is {}", percentage(all.front().share), all.front().text);
}

namespace {

// "ipu 3 storing logits to the host"
std::string text_of(const PathPart& part, device::ProcessorKind kind) {
  const auto [before, after] = verb_of(part.activity);
  return fmt::format("{} {} {}{}{}", name_of(kind, part.processor), before, part.name,
                     receiver_of(part, kind), after);
}

// "waiting for data, 31.0%": the largest of what an array counts.
template <class Kind, std::size_t kCount>
std::string largest_of(const std::array<double, kCount>& seconds, double makespan) {
  const auto largest = std::max_element(seconds.begin(), seconds.end());
  if (*largest <= 0) return "";
  return fmt::format("{}, {}", words_of(static_cast<Kind>(largest - seconds.begin())).text,
                     percentage(*largest / makespan));
}

// "gpu 1 computing, 31.0%; the host's call, 2.0%": what a processor waits for most, or for what kind of thing
// where nobody has asked.
std::string awaited_most(const sim::Timeline& timeline, const sim::ProcessorReport& one) {
  constexpr std::size_t kMost = 2;
  if (one.awaited.empty()) return largest_of<sim::Idle>(one.idle, timeline.makespan);
  std::string text;
  for (const sim::Awaited& awaited : one.awaited | std::views::take(kMost)) {
    const auto [before, after] = verb_of(awaited.activity);
    const std::string who =
        awaited.processor < 0
            ? "the host's call"
            : fmt::format("{} {}{}", name_of(timeline.kind, awaited.processor), before, after);
    text += fmt::format("{}{}, {}", text.empty() ? "" : "; ", who,
                        percentage(awaited.seconds / timeline.makespan));
  }
  return text;
}

}  // namespace

std::string idle_table(const sim::Timeline& timeline, std::size_t width) {
  constexpr std::size_t kMostShown = 16;
  if (timeline.makespan <= 0) return "";
  std::vector<std::vector<std::string>> rows{{"processor", "idle", "mostly behind", "else mostly"}};
  for (std::size_t i = 0; i < std::min(kMostShown, timeline.processors.size()); ++i) {
    const sim::ProcessorReport& one = timeline.processors[i];
    const double idle = std::accumulate(one.idle.begin(), one.idle.end(), 0.0);
    rows.push_back({name_of(timeline.kind, i), percentage(idle / timeline.makespan),
                    awaited_most(timeline, one), largest_of<Activity>(one.busy, timeline.makespan)});
  }
  if (timeline.processors.size() > kMostShown)
    rows.push_back({fmt::format("and {} more", timeline.processors.size() - kMostShown)});
  return table(fold(std::move(rows), {10, 9, 8, 6}, width));
}

std::string path_table(const sim::Timeline& timeline, std::size_t width) {
  constexpr std::size_t kMostParts = 12;
  std::vector<std::vector<std::string>> rows{
      {"what the step waits for", "share", "time", "once", "bytes", "rate"}};
  double rest = 0;
  double call = timeline.makespan;
  for (const PathPart& part : timeline.path) call -= part.seconds;
  for (std::size_t i = 0; i < std::min(kMostParts, timeline.path.size()); ++i) {
    const PathPart& part = timeline.path[i];
    const bool moves = part.step_bytes > 0 && part.step_seconds() > 0;
    rows.push_back({text_of(part, timeline.kind), share_of(part, timeline.makespan), duration(part.seconds),
                    duration(part.step_seconds()), moves ? bytes(part.step_bytes) : "",
                    moves ? bytes(part.step_bytes / part.step_seconds()) + "/s" : ""});
  }
  for (std::size_t i = kMostParts; i < timeline.path.size(); ++i) rest += timeline.path[i].seconds;
  if (rest > 0)
    rows.push_back({fmt::format("and {} more", timeline.path.size() - kMostParts),
                    percentage(rest / timeline.makespan), duration(rest)});
  rows.push_back({"the host's call", percentage(call / timeline.makespan), duration(call)});
  return table(fold(std::move(rows), {9, 8, 7, 4, 3, 5}, width));
}

}  // namespace podium::report
