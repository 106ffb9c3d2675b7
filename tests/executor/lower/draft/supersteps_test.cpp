// What becomes of supersteps: slots, loops and exchanges.
#include "executor/lower/draft/supersteps.h"

#include <gmock/gmock.h>

#include "executor/lower/program/append.h"

namespace podium::lower {
namespace {

using executor::BufferId;
using executor::Program;

// Three processors pass a value on: the second one takes its turns late.
struct Passed {
  Program program;
  std::vector<Turnout> turnouts;

  Passed() {
    program.processors = 4;
    std::vector<BufferId> buffers;
    for (int p = 0; p < 4; ++p) {
      buffers.push_back(append(program, executor::Buffer{.name = "v", .type = {}, .processor = p}));
    }
    const auto store = [](BufferId from) {
      return executor::Step{.action = executor::StoreToHost{{from}, 0}};
    };
    turnouts.push_back({.loads = {{.action = executor::LoadFromHost{0, {buffers[0]}}}},
                        .exchange = {{{buffers[0]}, {buffers[1]}}}});
    turnouts.push_back({.stores = {store(buffers[1])}});
    turnouts.push_back({.loads = {{.action = executor::LoadFromHost{1, {buffers[2]}}}},
                        .exchange = {{{buffers[2]}, {buffers[3]}}}});
  }
  std::string text(const std::vector<Superstep>& supersteps, Exchanges exchanges = Exchanges::Together,
                   int longest_fill = 64) {
    program.steps = write_out(program, turnouts, supersteps, exchanges, longest_fill);
    program.inputs.resize(2, {.name = "in", .type = {}});
    program.outputs.resize(1, {.name = "out", .type = {}});
    std::string lines = print(program);
    while (lines.starts_with("buffer ")) lines.erase(0, lines.find('\n') + 1);
    return lines;
  }
};

TEST(Supersteps, ThatComeAgainAreARepeat) {
  Passed passed;
  const std::string text =
      passed.text({{{0, 0}}, {{0, 1}, {1, 0}}, {{0, 2}, {1, 1}}, {{0, 3}, {1, 2}}, {{1, 3}}});
  EXPECT_THAT(text, ::testing::HasSubstr("repeat 3 times"));
  EXPECT_EQ(passed.program.buffers[1].slots, 1);
}

TEST(Supersteps, ALongFillIsNoListButARepeatInWhichTurnoutsAct) {
  Passed passed;
  const std::vector<Superstep> supersteps = {{{0, 0}},         {{0, 1}}, {{0, 2}, {1, 0}},
                                             {{0, 3}, {1, 1}}, {{1, 2}}, {{1, 3}}};
  EXPECT_THAT(passed.text(supersteps), ::testing::HasSubstr("repeat 2 times"));
  EXPECT_EQ(passed.text(supersteps, Exchanges::Together, 3),
            "repeat 6 times\n"
            "  load v@0 from host in iterations 0 to 3\n"
            "  store v@1[0+1i] to host in iterations 2 to 5\n"
            "  copy v@0 -> v@1[0+1i] in iterations 0 to 3\n");
}

// The first turnout takes two micro-batches a time from the third superstep on.
// The first turnout takes two micro-batches a time from the third superstep on.
TEST(Supersteps, WhereATurnoutComesTwiceARepeatEnds) {
  Passed passed;
  EXPECT_EQ(passed.text({{{0, 0}}, {{0, 1}}, {{0, 2}, {0, 3}}, {{0, 4}, {0, 5}}}, Exchanges::Together, 0),
            "repeat 2 times\n"
            "  load v@0[0+1i] from host\n"
            "  copy v@0[0+1i] -> v@1\n"
            "load v@0[0] from host\n"
            "load v@0[1] from host\n"
            "copy v@0[0] -> v@1, v@0[1] -> v@1\n"
            "load v@0[0] from host\n"
            "load v@0[1] from host\n"
            "copy v@0[0] -> v@1, v@0[1] -> v@1\n");
}

// A superstep of the one and one of the other, in turns; the other one begins later.
TEST(Supersteps, ALongFillMayHaveAPeriod) {
  Passed passed;
  EXPECT_EQ(passed.text({{{0, 0}}, {}, {{0, 1}}, {{1, 0}}, {{0, 2}}, {{1, 1}}, {}, {{1, 2}}},
                        Exchanges::Together, 0),
            "repeat 4 times\n"
            "  load v@0 from host in iterations 0 to 2\n"
            "  copy v@0 -> v@1[0+1i] in iterations 0 to 2\n"
            "  store v@1[1+1i] to host in iterations 1 to 3\n");
}

TEST(Supersteps, BuffersHoldAsManyMicroBatchesAsWait) {
  Passed passed;
  passed.text({{{0, 0}}, {{0, 1}}, {{0, 2}}, {{1, 0}}, {{0, 3}, {1, 1}}, {{1, 2}}, {{1, 3}}});
  EXPECT_EQ(passed.program.buffers[0].slots, 1);
  EXPECT_EQ(passed.program.buffers[1].slots, 3);
  EXPECT_EQ(passed.program.buffers[1].role, executor::Role::Stash);
}

TEST(Supersteps, ExchangesAreOneOrApart) {
  Passed passed;
  const auto copies = [&](Exchanges exchanges) {
    passed.text({{{0, 0}, {2, 0}}, {{1, 0}}}, exchanges);
    int count = 0;
    for (const executor::Step& step : passed.program.steps) {
      count += std::holds_alternative<executor::CopyBetweenProcessors>(step.action) ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(copies(Exchanges::Together), 1);
  EXPECT_EQ(copies(Exchanges::Apart), 2);
}

// Who sends on waits for what it sends alone, not for what it receives then.
TEST(Supersteps, ExchangesApartAreOfOneProcessorForAnother) {
  Passed passed;
  std::swap(passed.turnouts[2].exchange[0].from, passed.turnouts[2].exchange[0].to);
  passed.turnouts[2].exchange[0].to = passed.turnouts[0].exchange[0].to;
  passed.text({{{0, 0}, {2, 0}}, {{1, 0}}}, Exchanges::Apart);
  std::vector<std::size_t> transfers;
  for (const executor::Step& step : passed.program.steps) {
    const auto* copy = std::get_if<executor::CopyBetweenProcessors>(&step.action);
    if (copy != nullptr) transfers.push_back(copy->transfers.size());
  }
  EXPECT_EQ(transfers, (std::vector<std::size_t>{1, 1}));
}

}  // namespace
}  // namespace podium::lower
