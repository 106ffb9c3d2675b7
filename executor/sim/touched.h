// Which of many places were touched, in time that goes by those and not by all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace podium::sim {

class Touched {
 public:
  explicit Touched(std::size_t places = 0) : is_touched_(places, 0) {}

  void touch(int place) {
    if (std::exchange(is_touched_[place], 1) == 0) touched_.push_back(place);
  }

  /// Calls `use` with each that was touched, in ascending order. Afterwards none is.
  template <class Use>
  void take(const Use& use) {
    // A look at all takes less than sorting many.
    constexpr std::size_t kMany = 8;
    if (touched_.size() * kMany < is_touched_.size()) {
      std::ranges::sort(touched_);
    } else {
      touched_.clear();
      for (std::size_t i = 0; i < is_touched_.size(); ++i) {
        if (is_touched_[i] != 0) touched_.push_back(static_cast<int>(i));
      }
    }
    for (const int place : touched_) {
      is_touched_[place] = 0;
      use(place);
    }
    touched_.clear();
  }

 private:
  std::vector<char> is_touched_;
  std::vector<int> touched_;
};

}  // namespace podium::sim
