// The wait cycle is found where the processors stop: each waits for an action that another one has behind the
// action at which it stands itself. From processor to processor this comes back to one that was there before.
#include "executor/schedule/validate.h"

#include <algorithm>
#include <optional>

#include "ir/error.h"

namespace podium::schedule {
namespace {

void check_actions(const Schedule& schedule) {
  const Layout& layout = schedule.layout;
  PerStop<const Action*> seen(schedule, nullptr);
  for (int r = 0; r < std::ssize(schedule.orders); ++r) {
    for (const Action& action : schedule.orders[r]) {
      const std::string text = to_string(action, layout);
      if (action.chunk < 0 || action.chunk >= layout.chunks()) {
        throw Error("processor {}: {} found in chunk {}, the last chunk is {}", r, text, action.chunk,
                    layout.chunks() - 1);
      }
      if (action.micro_batch < 0 || action.micro_batch >= schedule.micro_batches) {
        throw Error("processor {}: {} found, the last micro-batch is {}", r, text,
                    schedule.micro_batches - 1);
      }
      if (layout.processor_of[action.chunk] != r) {
        throw Error("processor {}: {} found, chunk {} is on processor {}", r, text, action.chunk,
                    layout.processor_of[action.chunk]);
      }
      const Action*& before = seen.at(action);
      if (before != nullptr) {
        throw Error("processor {}: {} comes after {} of the same micro-batch: once is needed", r, text,
                    to_string(*before, layout));
      }
      before = &action;
    }
  }
  for (int chunk = 0; chunk < layout.chunks(); ++chunk) {
    for (int k = 0; k < schedule.micro_batches; ++k) {
      const auto missing = [&](Pass pass) {
        return Error("processor {}: {} is missing", layout.processor_of[chunk],
                     to_string({pass, chunk, k}, layout));
      };
      if (seen.at({Leg::There, chunk}, k) == nullptr) throw missing(Pass::Forward);
      if (!schedule.trains) continue;
      const Action* back = seen.at({Leg::Back, chunk}, k);
      const Action* weights = seen.at({Leg::Weights, chunk}, k);
      if (back == nullptr) throw missing(weights == nullptr ? Pass::Backward : Pass::InputGradient);
      if ((back->pass == Pass::InputGradient) == (weights != nullptr)) continue;
      if (weights == nullptr) throw missing(Pass::WeightGradient);
      throw Error("processor {}: {} found beside {}, which has the gradients of weights too",
                  layout.processor_of[chunk], to_string(*weights, layout), to_string(*back, layout));
    }
  }
}

void check_queues(const Schedule& schedule) {
  for (int r = 0; r < std::ssize(schedule.orders); ++r) {
    std::vector<int> last(static_cast<std::size_t>(schedule.layout.chunks()) * kLegs, -1);
    for (const Action& action : schedule.orders[r]) {
      int& before = last[action.chunk * kLegs + static_cast<int>(leg_of(action.pass))];
      if (action.micro_batch < before) {
        throw Error("processor {}: {} comes after micro-batch {}: micro-batches have to ascend in each chunk",
                    r, to_string(action, schedule.layout), before);
      }
      before = action.micro_batch;
    }
  }
}

// Runs the orders without a clock.
class Walk {
 public:
  explicit Walk(const Schedule& schedule)
      : schedule_(schedule), is_done_(schedule, false), next_(schedule.orders.size(), 0) {}

  /// Whether every processor came to its end.
  bool run() {
    for (bool moves = true; moves;) {
      moves = false;
      for (int r = 0; r < std::ssize(next_); ++r) {
        while (const Action* action = at(r)) {
          if (missing(*action)) break;
          is_done_.at(*action) = true;
          ++next_[r];
          moves = true;
        }
      }
    }
    for (int r = 0; r < std::ssize(next_); ++r) {
      if (at(r) != nullptr) return false;
    }
    return true;
  }

  std::string circle() {
    int r = 0;
    while (at(r) == nullptr) ++r;
    std::vector<int> way;
    while (std::ranges::find(way, r) == way.end()) {
      way.push_back(r);
      r = schedule_.layout.processor_of[missing(*at(r))->chunk];
    }
    way.erase(way.begin(), std::ranges::find(way, r));
    std::string text;
    for (int one : way) {
      const Stop stop = *missing(*at(one));
      text += fmt::format("{}{} on processor {} waits for {}", text.empty() ? "" : ", ",
                          to_string(*at(one), schedule_.layout), one, text_of(stop, at(one)->micro_batch));
    }
    return text;
  }

 private:
  const Action* at(int r) const {
    const std::vector<Action>& order = schedule_.orders[r];
    return next_[r] < order.size() ? &order[next_[r]] : nullptr;
  }
  std::optional<Stop> missing(const Action& action) {
    std::optional<Stop> found;
    for_each_dependence(schedule_.layout, action, [&](Stop stop) {
      if (!found && !is_done_.at(stop, action.micro_batch)) found = stop;
    });
    return found;
  }
  // As its processor has it, behind the action at which it stands.
  std::string text_of(Stop stop, int micro_batch) const {
    const int r = schedule_.layout.processor_of[stop.chunk];
    for (const Action& one : schedule_.orders[r]) {
      if (one.chunk != stop.chunk || one.micro_batch != micro_batch || leg_of(one.pass) != stop.leg) continue;
      return fmt::format("{} behind {} on processor {}", to_string(one, schedule_.layout),
                         to_string(*at(r), schedule_.layout), r);
    }
    IR_CHECK(false);
  }

  const Schedule& schedule_;
  PerStop<char> is_done_;
  std::vector<std::size_t> next_;
};

}  // namespace

void validate(const Schedule& schedule) {
  IR_CHECK(std::ssize(schedule.orders) == schedule.layout.processors);
  check_actions(schedule);
  check_queues(schedule);
  Walk walk(schedule);
  if (!walk.run()) throw Error("actions wait for each other: {}", walk.circle());
}

std::vector<double> peaks(const Schedule& schedule, double kept_for_weights) {
  const double chunk =
      schedule.layout.copies * static_cast<double>(schedule.layout.processors) / schedule.layout.chunks();
  std::vector<double> all;
  for (const std::vector<Action>& order : schedule.orders) {
    double held = 0;
    double peak = 0;
    for (const Action& action : order) {
      switch (action.pass) {
        case Pass::Forward:
          held += chunk;
          break;
        case Pass::InputGradient:
          held -= chunk * (1 - kept_for_weights);
          break;
        case Pass::WeightGradient:
          held -= chunk * kept_for_weights;
          break;
        case Pass::Backward:
          held -= chunk;
          break;
      }
      peak = std::max(peak, held);
    }
    all.push_back(peak);
  }
  return all;
}

}  // namespace podium::schedule
