// Visits the slots of steps without making a list of them, for passes over a million steps.
#pragma once

#include <cstdint>
#include <variant>

#include "executor/program.h"

namespace podium::executor {

/// The slot that stands for any number of one, also below zero, counted round and round.
inline int slot_for(std::int64_t number, int slots) {
  const auto rest = static_cast<int>(number % slots);
  return rest < 0 ? rest + slots : rest;
}

/// Calls `visit(slot, is_write, acts)` on each slot that a step uses itself, none for a Repeat, with the
/// iterations in which it does: for a block all reads first, for transfers the read of each before its write.
/// An omitted input has no slot.
template <class AnyStep, class Visit>
void for_each_use(AnyStep& step, const Visit& visit) {
  const auto visit_transfer = [&](auto& transfer, const Iterations& acts) {
    visit(transfer.from, false, acts);
    visit(transfer.to, true, acts);
  };
  std::visit(
      [&](auto& action) {
        if constexpr (requires { action.block; }) {
          for (auto& slot : action.reads) {
            if (slot.buffer.valid()) visit(slot, false, step.acts);
          }
          for (auto& slot : action.writes) visit(slot, true, step.acts);
        } else if constexpr (requires { action.transfers; }) {
          for (auto& transfer : action.transfers) visit_transfer(transfer, both(step.acts, transfer.acts));
        } else if constexpr (requires { action.transfer; }) {
          visit_transfer(action.transfer, step.acts);
        } else if constexpr (requires { action.to; }) {
          visit(action.to, true, step.acts);
        } else if constexpr (requires { action.from; }) {
          visit(action.from, false, step.acts);
        }
      },
      step.action);
}

/// Calls `visit(slot, is_write)` on the same slots, whenever they are used.
template <class AnyStep, class Visit>
void for_each_slot(AnyStep& step, const Visit& visit) {
  for_each_use(step, [&](auto& slot, bool is_write, const Iterations& /*acts*/) { visit(slot, is_write); });
}

}  // namespace podium::executor
