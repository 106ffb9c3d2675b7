// A guard against models that nest deeper than the stack.
#pragma once

#include "ir/error.h"

namespace podium::importer {

/// Counts a level while it lives. Error at the level that is one too deep.
class Depth {
 public:
  explicit Depth(int& depth) : depth_(depth) {
    constexpr int kDeepest = 200;  // protobuf nests at most 33 bodies, but functions call functions
    if (depth_ >= kDeepest) throw Error("bodies and functions nest deeper than {} levels", kDeepest);
    ++depth_;
  }
  ~Depth() { --depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  int& depth_;
};

}  // namespace podium::importer
