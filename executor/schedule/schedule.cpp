#include "executor/schedule/schedule.h"

#include <fmt/core.h>

#include <algorithm>

#include "ir/error.h"
#include "ir/number_text.h"

namespace podium::schedule {
namespace {

constexpr std::string_view kLetters = "FIWB";  // of Pass

}  // namespace

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

std::string written_out(const Action& action) {
  return fmt::format("{}{}@{}", kLetters[static_cast<std::size_t>(action.pass)], action.micro_batch,
                     action.chunk);
}

std::string to_string(const Action& action, const Layout& layout) {
  const std::string text = written_out(action);
  return layout.chunks() == layout.processors ? text.substr(0, text.find('@')) : text;
}

std::optional<Action> read_action(std::string_view text, int chunk) {
  const std::size_t letter = text.empty() ? std::string_view::npos : kLetters.find(text.front());
  if (letter == std::string_view::npos) return std::nullopt;
  text.remove_prefix(1);
  const std::optional<int> micro_batch = ir::take_number<int>(text);
  std::optional<int> at = chunk;
  if (text.starts_with('@')) at = ir::number_of<int>(text.substr(1));
  const bool is_whole = text.empty() || text.starts_with('@');
  if (!micro_batch || !at || !is_whole) return std::nullopt;
  return Action{.pass = static_cast<Pass>(letter), .chunk = *at, .micro_batch = *micro_batch};
}

std::vector<int> depths(const Schedule& schedule) {
  std::vector<int> held(schedule.layout.chunks(), 0);
  std::vector<int> most(schedule.layout.chunks(), 0);
  for (const std::vector<Action>& order : schedule.orders) {
    for (const Action& action : order) {
      if (action.pass == Pass::Forward) {
        most[action.chunk] = std::max(most[action.chunk], ++held[action.chunk]);
      } else if (action.pass != Pass::InputGradient) {
        --held[action.chunk];
      }
    }
  }
  return most;
}

Schedule forward_only(Schedule schedule) {
  for (std::vector<Action>& order : schedule.orders) {
    std::erase_if(order, [](const Action& one) { return one.pass != Pass::Forward; });
  }
  schedule.trains = false;
  return schedule;
}

}  // namespace podium::schedule
