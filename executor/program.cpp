#include "executor/program.h"

#include <array>
#include <string_view>

namespace podium::executor {
namespace {

struct PrintStep {
  const Program& program;

  std::string slot(const Slot& slot) const {
    if (!slot.buffer.valid()) return "_";
    const Buffer& buffer = program[slot.buffer];
    return buffer.slots == 1 ? buffer.name : fmt::format("{}[{}]", buffer.name, slot.index);
  }
  std::string slots(const std::vector<Slot>& all) const {
    std::string text;
    for (const Slot& one : all) text += (text.empty() ? "" : ", ") + slot(one);
    return text;
  }
  std::string operator()(const LoadFromHost& step) const {
    return fmt::format("load {} from host", slot(step.to));
  }
  std::string operator()(const StoreToHost& step) const {
    return fmt::format("store {} to host", slot(step.from));
  }
  std::string operator()(const Compute& step) const {
    const Block& block = program[step.block];
    return fmt::format("compute {} on ipu {}: ({}) -> ({})", block.name, block.processor, slots(step.reads),
                       slots(step.writes));
  }
};

std::string_view name_of(Memory memory) {
  constexpr std::array<std::string_view, 4> kNames{"compute", "io", "streaming", "host"};
  return kNames[static_cast<std::size_t>(memory)];
}

}  // namespace

std::string print(const Program& program) {
  std::string text;
  for (const Buffer& buffer : program.buffers) {
    text += fmt::format("buffer {}: {} x {} on ipu {} {}\n", buffer.name, buffer.slots, to_string(buffer.type),
                        buffer.processor, name_of(buffer.memory));
  }
  for (const Block& block : program.blocks) {
    text += fmt::format("block {} on ipu {}: {} ops\n", block.name, block.processor, block.graph.ops.size());
  }
  for (const Step& step : program.steps) text += std::visit(PrintStep{program}, step) + "\n";
  return text;
}

}  // namespace podium::executor
