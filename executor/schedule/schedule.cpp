#include "executor/schedule/schedule.h"

#include <fmt/core.h>

#include <algorithm>

#include "ir/error.h"

namespace podium::schedule {

Layout layout_of(Shape shape, int processors, int chunks_each) {
  Layout layout{.processors = processors, .copies = shape == Shape::TwoWay ? 2 : 1};
  const int chunks = processors * (shape == Shape::Loop ? chunks_each : 2);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const bool turns = shape != Shape::Loop && chunk >= processors;
    layout.processor_of.push_back(turns ? chunks - 1 - chunk : chunk % processors);
  }
  return layout;
}

bool is_split(const Schedule& schedule) {
  return std::ranges::any_of(schedule.orders, [](const std::vector<Action>& order) {
    return std::ranges::any_of(order, [](const Action& one) { return one.pass == Pass::InputGradient; });
  });
}

std::string to_string(const Action& action, const Layout& layout) {
  const char letter = "FIWB"[static_cast<int>(action.pass)];
  if (layout.chunks() == layout.processors) return fmt::format("{}{}", letter, action.micro_batch);
  return fmt::format("{}{}@{}", letter, action.micro_batch, action.chunk);
}

Schedule forward_only(Schedule schedule) {
  for (std::vector<Action>& order : schedule.orders) {
    std::erase_if(order, [](const Action& one) { return one.pass != Pass::Forward; });
  }
  schedule.trains = false;
  return schedule;
}

}  // namespace podium::schedule
