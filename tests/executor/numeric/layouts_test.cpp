#include "executor/numeric/layouts.h"

#include <gtest/gtest.h>

#include "executor/lower/lower.h"
#include "executor/numeric/engine.h"
#include "tests/support/fusing.h"

namespace podium::numeric {
namespace {

using ir::ValueId;
using testing::Sketch;

// Conv, Relu, MaxPool, Conv, Flatten: a block each.
ir::Graph chain(bool gives_pool = false) {
  Sketch s;
  ValueId x = s.op("Relu", {s.op("Conv", {s.input({2, 3, 8, 8}), s.weight({4, 3, 3, 3})})});
  x = s.op("MaxPool", {x}, {{"kernel_shape", ir::IntList{2, 2}}, {"strides", ir::IntList{2, 2}}});
  if (gives_pool) s.output(x);
  s.output(s.op("Flatten", {s.op("Conv", {x, s.weight({5, 4, 2, 2})})}));
  return std::move(s.graph);
}

ir::Placement each_on_its_own(const ir::Graph& graph) {
  ir::Placement placement{.ops = {}, .processors = static_cast<int>(graph.ops.size())};
  for (std::size_t i = 0; i < graph.ops.size(); ++i)
    placement.ops.push_back({.processor = static_cast<int>(i)});
  return placement;
}

// Per block: "inputs -> outputs", L channels-last.
std::string text_of(const ir::Graph& graph) {
  std::string text;
  for (const Layouts& layouts : choose_layouts(lower::lower(graph, each_on_its_own(graph), Strategy{}))) {
    for (bool last : layouts.inputs) text += last ? "L" : ".";
    text += "->";
    for (bool last : layouts.outputs) text += last ? "L" : ".";
    text += " ";
  }
  return text;
}

TEST(Layouts, LieChannelsLastBetweenConvolutions) {
  EXPECT_EQ(text_of(chain()), ".->L L->L L->L L->L L->. ");
}

// The host reads what the pool gives, and so what the ops of its layout give before it.
TEST(Layouts, LieAsTheModelSaysWhereTheHostReads) {
  EXPECT_EQ(text_of(chain(true)), ".->. .->. .->. .->L L->. ");
}

TEST(Layouts, LieAsTheModelSaysBetweenOtherOps) {
  Sketch s;
  const ValueId x = s.op("Transpose", {s.input({2, 3, 8, 8})}, {{"perm", ir::IntList{0, 1, 3, 2}}});
  s.output(s.op("Flatten", {s.op("Relu", {x})}));
  EXPECT_EQ(text_of(s.graph), ".->. .->. .->. ");
}

TEST(Layouts, ChangeNoNumbers) {
  for (const bool gives_pool : {false, true}) {
    const ir::Graph graph = chain(gives_pool);
    Engine apart(lower::lower(graph, each_on_its_own(graph), Strategy{}), {.threads = 1});
    Engine plain(lower::on_one_processor(graph), {.threads = 1, .fuse = false});
    const std::vector<ir::Datum> inputs{testing::random_floats({2, 3, 8, 8}, 1)};
    const auto found = apart.run(inputs);
    const auto expected = plain.run(inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      for (std::int64_t k = 0; k < expected[i].tensor.size(); ++k) {
        EXPECT_NEAR(found[i].tensor.data<float>()[k], expected[i].tensor.data<float>()[k], 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace podium::numeric
