#include "executor/report/event_names.h"

#include <fmt/core.h>

#include <algorithm>

#include "executor/report/names.h"

namespace podium::report {
namespace {

using sim::Activity;

constexpr std::size_t kLongestName = 80;
constexpr std::size_t kMostReceivers = 4;

const std::vector<int> kNoFlow;

std::string receivers_of(const sim::Timeline& timeline, const std::vector<int>& flow) {
  std::vector<int> processors;
  for (std::size_t i = 1; i < flow.size(); ++i) processors.push_back(timeline.events[flow[i]].processor);
  std::sort(processors.begin(), processors.end());
  processors.erase(std::unique(processors.begin(), processors.end()), processors.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostReceivers, processors.size()); ++i)
    text += (text.empty() ? "" : ", ") + name_of(timeline.kind, processors[i]);
  if (processors.size() > kMostReceivers)
    text += fmt::format(" and {} more", processors.size() - kMostReceivers);
  return text;
}

std::string exchange_label(const sim::Timeline& timeline, const std::vector<int>& flow,
                           const sim::Event& event, const std::string& name) {
  if (flow.empty()) return "exchange " + name;
  const sim::Event& sender = timeline.events[flow.front()];
  if (&sender == &event) return fmt::format("send {} to {}", name, receivers_of(timeline, flow));
  return fmt::format("receive {} from {}", name, name_of(timeline.kind, sender.processor));
}

}  // namespace

Flows::Flows(const sim::Timeline& timeline) {
  for (std::size_t i = 0; i < timeline.events.size(); ++i) {
    const int flow = timeline.events[i].flow;
    if (flow < 0) continue;
    if (flow >= std::ssize(flows_)) flows_.resize(flow + 1);
    flows_[flow].push_back(static_cast<int>(i));
  }
}

const std::vector<int>& Flows::of(const sim::Event& event) const {
  return event.flow < 0 || event.flow >= std::ssize(flows_) ? kNoFlow : flows_[event.flow];
}

std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto continues = [&](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U;
  };
  std::size_t end = most;
  while (end > 0 && continues(end)) --end;
  return text.substr(0, end) + "...";
}

std::string label_of(const sim::Timeline& timeline, const Flows& flows, const sim::Event& event) {
  const std::string name = shortened(event.name, kLongestName);
  switch (event.activity) {
    case Activity::Compute:
      return name;
    case Activity::Exchange:
      return exchange_label(timeline, flows.of(event), event, name);
    case Activity::Collective:
      return fmt::format("exchange {} between replicas", name);
    case Activity::GroupCollective:
      return fmt::format("exchange {} between devices of a cut", name);
    case Activity::TileCopy:
      return fmt::format("copy {} between tiles", name);
    case Activity::HostLoad:
      return "load " + name;
    case Activity::HostStore:
      return "store " + name;
    case Activity::RemoteLoad:
      return fmt::format("load {} from streaming memory", name);
    case Activity::RemoteStore:
      return fmt::format("store {} to streaming memory", name);
  }
  return name;
}

}  // namespace podium::report
