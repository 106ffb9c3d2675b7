// Which steps of a Repeat's body, and which transfers of an exchange, act in an iteration: found without
// going through those that do not. The stages of a long pipeline begin and end one after the other, and in
// each iteration of its fill only a few of them act.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "executor/program.h"

namespace podium::executor {

/// The members of a list that act in an iteration. A walk whose iterations ascend costs as much as there are
/// members that act, and a sort of the list.
class Acting {
 public:
  /// The iterations in which each member acts.
  explicit Acting(std::vector<Iterations> members);
  /// Of each step of a body.
  explicit Acting(const std::vector<Step>& body);
  /// Of each transfer of an exchange.
  explicit Acting(const CopyBetweenProcessors& exchange);

  /// The places of those that act, ascending; valid until the next call. Iterations may be left out; an
  /// earlier one than in the last call begins anew.
  std::span<const int> in(std::int64_t iteration);

 private:
  void begin();

  std::vector<Iterations> members_;
  std::vector<int> by_first_;  ///< places, in the order in which they begin to act
  std::size_t next_ = 0;       ///< place in by_first_ of the first that has not begun
  std::vector<int> now_;       ///< places that act, ascending
  std::int64_t iteration_ = -1;
  std::int64_t change_ = 0;  ///< the first iteration, from the last one that was asked for, with another list
};

/// The same of the exchanges of a Program, each made when it is first asked for.
class ActingTransfers {
 public:
  /// The places of the transfers of a step, an exchange of the Program, that act in an iteration.
  std::span<const int> of(const Step& step, std::int64_t iteration);

 private:
  std::unordered_map<const Step*, Acting> exchanges_;
};

}  // namespace podium::executor
