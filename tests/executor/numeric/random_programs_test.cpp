// Programs of random steps give what a plain walk over their steps gives, with any number of threads.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "executor/lower/program/plan_memory.h"
#include "executor/numeric/engine.h"
#include "executor/sim/simulate.h"
#include "tests/support/hand_made.h"
#include "tests/support/run_text.h"

namespace podium::numeric {
namespace {

using executor::BlockId;
using executor::Compute;
using executor::CopyBetweenProcessors;
using executor::LoadFromHost;
using executor::Program;
using executor::Repeat;
using executor::Slot;
using executor::Step;
using executor::StoreToHost;
using ir::Datum;
using testing::HandMade;

constexpr int kProcessors = 2;
constexpr int kBlocksEach = 2;
constexpr int kIterations = 3;
constexpr int kStepsInBody = 12;
constexpr std::int64_t kNumbersOfProgram = 5;
using Numbers = std::vector<float>;

// Block k makes (a - b) / (k + 2).
Numbers block_result(int block, const Numbers& a, const Numbers& b) {
  Numbers result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = (a[i] - b[i]) / static_cast<float>(block + 2);
  return result;
}

// On each processor: two buffers of several slots, which are filled before the Repeat and stored after it,
// and four of one slot, of which those that the body writes first live in it only.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {
    made_.input("x", {kNumbersOfProgram}).micro_batches = 0;
    for (int processor = 0; processor < kProcessors; ++processor) {
      for (int i = 0; i < kBlocksEach; ++i) {
        const std::size_t k = made_.program.blocks.size();
        made_.block(fmt::format("g (float[5] a, float[5] b) => (float[5] y) <float c = {{{}}}> "
                                "{{ d = Sub(a, b) y = Div(d, c) }}",
                                k + 2),
                    processor);
      }
      for (int i = 0; i < 2; ++i)
        made_.buffer(fmt::format("g{}", i), {kNumbersOfProgram}, processor).slots = 1 + draw(3);
      for (int i = 0; i < 4; ++i) made_.buffer(fmt::format("l{}", i), {kNumbersOfProgram}, processor);
    }
    fill();
    std::vector<Step> body;
    while (body.size() < kStepsInBody) body.push_back(draw(3) == 0 ? copy() : compute());
    made_.step({.action = Repeat{kIterations, std::move(body)}});
    store();
    lower::plan_memory(made_.program);
    verify(made_.program);
  }
  const Program& program() const { return made_.program; }

 private:
  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  void fill() {
    for (int processor = 0; processor < kProcessors; ++processor) {
      for (const char* name : {"g0", "g1"}) {
        const Slot slot = made_.slot(name, processor);
        for (int i = 0; i < made_.program[slot.buffer].slots; ++i) {
          made_.step({.action = LoadFromHost{0, made_.slot(name, processor, i)}});
          ++made_.program.inputs[0].micro_batches;
        }
        written_.push_back(slot);
      }
    }
  }
  void store() {
    for (int processor = 0; processor < kProcessors; ++processor) {
      for (const char* name : {"g0", "g1"}) {
        const Slot first = made_.slot(name, processor);
        for (int i = 0; i < made_.program[first.buffer].slots; ++i) {
          const int output = static_cast<int>(made_.program.outputs.size());
          made_.output(fmt::format("y{}", output), {kNumbersOfProgram});
          made_.step({.action = StoreToHost{made_.slot(name, processor, i), output}});
        }
      }
    }
  }
  Slot moving(Slot slot) {
    slot.index = draw(made_.program[slot.buffer].slots);
    slot.stride = draw(3);
    return slot;
  }
  Slot source(int processor) {
    std::vector<Slot> all;
    for (const Slot& slot : written_) {
      if (made_.program[slot.buffer].processor == processor) all.push_back(slot);
    }
    return moving(all[draw(static_cast<int>(all.size()))]);
  }
  Slot target(int processor) {
    const int which = draw(6);
    const Slot slot =
        made_.slot(which < 2 ? fmt::format("g{}", which) : fmt::format("l{}", which - 2), processor);
    written_.push_back(slot);
    return moving(slot);
  }
  Step compute() {
    const int processor = draw(kProcessors);
    const BlockId block{processor * kBlocksEach + draw(kBlocksEach)};
    const std::vector<Slot> reads{source(processor), source(processor)};
    return {.action = Compute{block, reads, {target(processor)}}};
  }
  Step copy() {
    const int from = draw(kProcessors);
    const Slot source_slot = source(from);
    return {.action = CopyBetweenProcessors{{{source_slot, target(1 - from)}}}};
  }

  HandMade made_;
  std::mt19937 random_;
  std::vector<Slot> written_;
};

// Steps in program order, everything copied.
class PlainWalk {
 public:
  PlainWalk(const Program& program, const Numbers& input) : program_(program), input_(input) {
    walk(program.steps, 0);
  }
  std::vector<Numbers> outputs;

 private:
  Numbers& at(const Slot& slot, int iteration) {
    return memory_[{slot.buffer.index, (slot.index + slot.stride * iteration) % program_[slot.buffer].slots}];
  }
  void walk(const std::vector<Step>& steps, int iteration) {
    for (const Step& step : steps) {
      if (const auto* load = std::get_if<LoadFromHost>(&step.action)) {
        const auto first = input_.begin() + loads_++ * kNumbersOfProgram;
        at(load->to, iteration) = Numbers(first, first + kNumbersOfProgram);
      } else if (const auto* compute = std::get_if<Compute>(&step.action)) {
        const Numbers a = at(compute->reads[0], iteration);
        at(compute->writes[0], iteration) =
            block_result(compute->block.index, a, at(compute->reads[1], iteration));
      } else if (const auto* copy = std::get_if<CopyBetweenProcessors>(&step.action)) {
        at(copy->transfers[0].to, iteration) = at(copy->transfers[0].from, iteration);
      } else if (const auto* store = std::get_if<StoreToHost>(&step.action)) {
        outputs.push_back(at(store->from, iteration));
      } else if (const auto* repeat = std::get_if<Repeat>(&step.action)) {
        for (int i = 0; i < repeat->count; ++i) walk(repeat->body, i);
      }
    }
  }

  const Program& program_;
  const Numbers& input_;
  std::int64_t loads_ = 0;
  std::map<std::pair<int, int>, Numbers> memory_;
};

TEST(RandomPrograms, GiveWhatAPlainWalkGives) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const RandomProgram made(seed);
    const std::int64_t loads = made.program().inputs[0].micro_batches;
    Numbers input(static_cast<std::size_t>(loads * kNumbersOfProgram));
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i * i % 101);
    const PlainWalk expected(made.program(), input);
    for (int threads : {1, 2, 4}) {
      Engine engine(made.program(), {.threads = threads, .fuse = false});
      const std::vector<Datum> inputs{testing::tensor<float>({loads, kNumbersOfProgram}, input)};
      engine.run(inputs);
      const auto found = engine.run(inputs);
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(testing::values<float>(found[i]), expected.outputs[i])
            << "seed " << seed << ", " << threads << " threads, output " << i << "\n"
            << print(made.program());
      }
    }
  }
}

// The simulator computes it, the engine measures it.
TEST(RandomPrograms, NeedThePeakThatTheSimulatorSays) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const RandomProgram made(seed);
    const std::int64_t loads = made.program().inputs[0].micro_batches;
    sim::Costs costs;  // what things take in time does not matter
    costs.blocks.resize(made.program().blocks.size());
    costs.movement = [](const Step& /*step*/) { return sim::StepCost{}; };
    const sim::Timeline timeline = sim::simulate(made.program(), device::Device{}, costs, {});
    Engine engine(made.program(), {.threads = 2, .fuse = false});
    const Numbers input(static_cast<std::size_t>(loads * kNumbersOfProgram));
    engine.run(std::vector<Datum>{testing::tensor<float>({loads, kNumbersOfProgram}, input)});
    for (int processor = 0; processor < kProcessors; ++processor) {
      ASSERT_EQ(engine.peak_bytes(processor), timeline.processors[processor].memory.peak_data)
          << "seed " << seed << ", ipu " << processor << "\n"
          << print(made.program());
    }
  }
}

}  // namespace
}  // namespace podium::numeric
