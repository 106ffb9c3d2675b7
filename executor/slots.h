// Visits the slots of steps without making a list of them, for passes over a million steps.
#pragma once

#include <variant>

#include "executor/program.h"

namespace podium::executor {

/// Calls `visit(slot, is_write)` on each slot that a step uses itself, none for a Repeat: for a block all
/// reads first, for transfers the read of each before its write. An omitted input has no slot.
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
