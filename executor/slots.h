// Visits the slots of steps without a list of them: what goes over a million steps has no time for one.
#pragma once

#include <variant>

#include "executor/program.h"

namespace podium::executor {

/// Calls `visit(slot, is_write)` on each slot that a step uses itself, none of a Repeat: of a block all reads
/// first, of transfers each one's read before its write. An input that is left out is none.
template <class AnyStep, class Visit>
void for_each_slot(AnyStep& step, const Visit& visit) {
  const auto visit_transfer = [&](auto& transfer) {
    visit(transfer.from, false);
    visit(transfer.to, true);
  };
  std::visit(
      [&](auto& action) {
        if constexpr (requires { action.block; }) {
          for (auto& slot : action.reads) {
            if (slot.buffer.valid()) visit(slot, false);
          }
          for (auto& slot : action.writes) visit(slot, true);
        } else if constexpr (requires { action.transfers; }) {
          for (auto& transfer : action.transfers) visit_transfer(transfer);
        } else if constexpr (requires { action.transfer; }) {
          visit_transfer(action.transfer);
        } else if constexpr (requires { action.to; }) {
          visit(action.to, true);
        } else if constexpr (requires { action.from; }) {
          visit(action.from, false);
        }
      },
      step.action);
}

}  // namespace podium::executor
