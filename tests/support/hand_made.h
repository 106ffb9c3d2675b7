// A Program made by hand, step by step, for cases that no strategy would build.
#pragma once

#include <string>
#include <vector>

#include "executor/program.h"

namespace podium::testing {

struct HandMade {
  executor::Program program;

  /// A buffer of floats with one slot on processor 0, to be changed through the reference.
  executor::Buffer& buffer(const std::string& name, ir::Dims dims, int processor = 0);
  /// The slot of the buffer of that name on a processor.
  executor::Slot slot(const std::string& name, int processor = 0, int index = 0, int stride = 0) const;
  /// A float input or output of the host.
  executor::HostTensor& input(const std::string& name, ir::Dims dims);
  executor::HostTensor& output(const std::string& name, ir::Dims dims);
  /// A block from the text of its graph.
  executor::BlockId block(const std::string& text, int processor = 0);
  void step(executor::Step step) { program.steps.push_back(std::move(step)); }
};

}  // namespace podium::testing
