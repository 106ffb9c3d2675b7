// How far up in a list of steps a transfer can come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <variant>

#include "executor/slots.h"

namespace podium::executor {

/// Of the buffers that steps have used so far, noted in their order.
class Uses {
 public:
  /// A step, the last one of the first `end`, with all that it repeats.
  void note(const Step& step, std::size_t end) {
    if (const auto* repeat = std::get_if<Repeat>(&step.action)) {
      for (const Step& inner : repeat->body) note(inner, end);
      return;
    }
    for_each_slot(step, [&](const Slot& slot, bool is_write) { note(slot, is_write, end); });
  }
  /// A transfer that comes among the first `end`.
  void note(const Transfer& transfer, std::size_t end) {
    note(transfer.from, false, end);
    note(transfer.to, true, end);
  }
  /// Behind how many of the steps a transfer can come: what it reads is made, what it writes is not used by
  /// them any more.
  std::size_t earliest(const Transfer& transfer) const {
    return std::max(of(transfer.from).written, of(transfer.to).touched);
  }

 private:
  struct Use {
    std::size_t written = 0;  // behind so many steps
    std::size_t touched = 0;
  };

  void note(const Slot& slot, bool is_write, std::size_t end) {
    Use& use = buffers_[slot.buffer.number()];
    use.touched = std::max(use.touched, end);
    if (is_write) use.written = std::max(use.written, end);
  }
  Use of(const Slot& slot) const {
    const auto found = buffers_.find(slot.buffer.number());
    return found == buffers_.end() ? Use{} : found->second;
  }

  std::unordered_map<int, Use> buffers_;
};

}  // namespace podium::executor
