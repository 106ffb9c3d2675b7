#include "tests/support/hand_made.h"

#include "tests/support/graph_text.h"

namespace podium::testing {

using executor::Buffer;
using executor::HostTensor;

executor::Buffer& HandMade::buffer(const std::string& name, ir::Dims dims, int processor) {
  program.processors = std::max(program.processors, processor + 1);
  Buffer& made = program.buffers.emplace_back();
  made.name = name;
  made.type = ir::Type::tensor(ir::DataType::Float, std::move(dims));
  made.processor = processor;
  return made;
}

executor::Slot HandMade::slot(const std::string& name, int processor, int index, int stride) const {
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].name != name || program.buffers[i].processor != processor) continue;
    return {executor::BufferId{static_cast<std::int32_t>(i)}, index, stride};
  }
  IR_CHECK(false, "there is no buffer {} on ipu {}", name, processor);
}

HostTensor& HandMade::input(const std::string& name, ir::Dims dims) {
  return program.inputs.emplace_back(
      HostTensor{name, ir::Type::tensor(ir::DataType::Float, std::move(dims))});
}

HostTensor& HandMade::output(const std::string& name, ir::Dims dims) {
  return program.outputs.emplace_back(
      HostTensor{name, ir::Type::tensor(ir::DataType::Float, std::move(dims))});
}

executor::BlockId HandMade::block(const std::string& text, int processor) {
  program.blocks.push_back({.name = fmt::format("block{}", program.blocks.size()),
                            .processor = processor,
                            .graph = graph_of(text)});
  return executor::BlockId{static_cast<std::int32_t>(program.blocks.size()) - 1};
}

}  // namespace podium::testing
