// Two entries of ones in a remote buffer, by a Program made step by step: what each gives with x added comes
// out, then it is updated, by 1 and by 2, and stored. A second run loads what the first has stored.
#include <fmt/ranges.h>

#include "executor/device/presets.h"
#include "executor/lower/program/plan_memory.h"
#include "executor/numeric/engine.h"
#include "executor/session/clock.h"
#include "ir/builder.h"

using namespace podium;
using namespace podium::executor;

namespace {

constexpr int kEntries = 2;
const ir::Type kNumber = ir::Type::tensor(ir::DataType::Float, {1});

ir::Tensor numbers(const std::vector<float>& values) {
  return ir::Tensor::of<float>({std::ssize(values)}, values);
}

// Both results of one entry: the output, and the entry as it will be stored.
ir::Graph add_and_update() {
  ir::Graph graph;
  ir::Builder build(graph);
  const ir::ValueId entry = build.input("entry", kNumber);
  const ir::ValueId x = build.input("x", kNumber);
  const ir::ValueId by = build.input("by", kNumber);
  build.output(build.op("Add", {entry, x}));
  build.output(build.op("Add", {entry, by}));
  return graph;
}

Program make_program() {
  Program program;
  const auto buffer = [&](const char* name) {
    program.buffers.push_back({.name = name, .type = kNumber});
    return Slot{BufferId{static_cast<std::int32_t>(program.buffers.size() - 1)}};
  };
  // Entry i of the remote buffer is the one of iteration i.
  Slot remote = buffer("remote");
  remote.stride = 1;
  Buffer& entries = program[remote.buffer];
  entries.memory = Memory::Streaming;
  entries.role = Role::Weight;
  entries.slots = kEntries;
  entries.initial.assign(kEntries, numbers({1}));

  const Slot entry = buffer("entry");
  const Slot x = buffer("x");
  const Slot by = buffer("by");
  const Slot sum = buffer("sum");
  const Slot updated = buffer("updated");
  program.inputs = {{.name = "x", .type = kNumber, .micro_batches = kEntries},
                    {.name = "by", .type = kNumber, .micro_batches = kEntries}};
  for (const char* name : {"loaded", "sum"}) {
    program.outputs.push_back(
        {.name = name, .type = kNumber, .micro_batches = kEntries, .leading = {kEntries, 1}});
  }
  program.blocks.push_back({.name = "add and update", .graph = add_and_update()});
  program.steps.push_back({.action = Repeat{kEntries,
                                            {{.action = LoadRemote{{{remote, entry}}}},
                                             {.action = LoadFromHost{0, x}},
                                             {.action = LoadFromHost{1, by}},
                                             {.action = Compute{BlockId{0}, {entry, x, by}, {sum, updated}}},
                                             {.action = StoreToHost{entry, 0}},
                                             {.action = StoreToHost{sum, 1}},
                                             {.action = StoreRemote{{{updated, remote}}}}}}});
  verify(program);
  lower::plan_memory(program);
  return program;
}

}  // namespace

int main() try {
  const Program program = make_program();
  fmt::print("{}", print(program));
  const sim::Timeline timeline = Clock{*device::find_preset(device::kDefaultPreset), {}}.run(program);
  numeric::Engine engine(program);
  for (int run = 1; run <= 2; ++run) {
    const auto outputs = engine.run(std::vector<ir::Datum>{numbers({1, 1}), numbers({1, 2})});
    fmt::print("run {}: entries {}, outputs {}\n", run, fmt::join(outputs[0].tensor.values<float>(), ", "),
               fmt::join(outputs[1].tensor.values<float>(), ", "));
  }
  fmt::print("a run takes {:.2f} us simulated\n", 1e6 * timeline.makespan);
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "error: {}\n", error.what());
  return 1;
}
