// Every row of semantics, section 1.4 that concerns placement, with its message.
#include "annotate/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "annotate/annotations.h"
#include "tests/support/graph_text.h"
#include "tests/support/refusal.h"

namespace podium::annotate {
namespace {

using testing::graph_of;
using ::testing::HasSubstr;

constexpr Request kManual{.mode = Mode::Manual};
constexpr Request kPipelined{.mode = Mode::Manual, .pipelining = true};
constexpr Request kPhased{.mode = Mode::ExecutionPhases, .phases = 4};

// A chain x -> a -> b -> c, its nodes with these attributes.
ir::Graph chain(const std::string& a, const std::string& b, const std::string& c) {
  const auto node = [](const std::string& out, const std::string& attributes, const std::string& in) {
    return out + " = Relu" + (attributes.empty() ? "" : "<" + attributes + ">") + "(" + in + ") ";
  };
  return graph_of("g (float[2] x) => (float[2] c) {" + node("a", a, "x") + node("b", b, "a") +
                  node("c", c, "b") + "}");
}

std::string refusal(const ir::Graph& graph, const Request& request, const Metadata& metadata = {}) {
  return testing::refusal([&] { check(graph, metadata, request); });
}

constexpr const char* kAccepted = "";

TEST(Check, OffSaysNothingOfVirtualGraphs) {
  EXPECT_EQ(refusal(chain("__ipu_number=7", "", ""), {}), kAccepted);
}

TEST(Check, WithoutPipeliningNothingIsSaidOfStages) {
  EXPECT_EQ(refusal(chain("__ipu_number=0, __pipeline_stage=5", "__ipu_number=0", "__ipu_number=0"), kManual),
            kAccepted);
}

TEST(Check, ManualWithoutAnyVirtualGraphIsRefused) {
  EXPECT_EQ(refusal(chain("", "", ""), kManual),
            "virtualGraphMode is manual, but no node has a virtual graph (__ipu_number): annotate the nodes, "
            "or use auto");
}

TEST(Check, AllNodesHaveAVirtualGraphOrNone) {
  EXPECT_EQ(
      refusal(chain("__ipu_number=0", "", "__ipu_number=1"), kManual),
      "either all nodes have a virtual graph or none: 1 have none: node 'b' (Relu); nodes per virtual graph: "
      "1 of 0, 1 of 1");
}

TEST(Check, NodesOfConstantsShapesAndDeadEndsNeedNoAnnotation) {
  const ir::Graph graph = graph_of(R"(g (float[2,3] x) => (float[6] y)
    <int64[1] one = {1}, float[6] w = {1, 2, 3, 4, 5, 6}> {
      shape = Shape (x)
      size = ReduceProd<keepdims=1> (shape)
      wide = Neg (w)
      flat = Reshape<__ipu_number=0> (x, size)
      same = Identity (flat)
      dead = Relu (same)
      y = Add<__ipu_number=1> (same, wide)
    })");
  EXPECT_EQ(refusal(graph, kManual), kAccepted);
}

TEST(Check, AVirtualGraphBeyondTheReplicaIsRefusedAtOnce) {
  const ir::Graph graph = chain("__ipu_number=0", "__ipu_number=1", "__ipu_number=2");
  EXPECT_EQ(refusal(graph, {.mode = Mode::Manual, .processors = 2}),
            "node 'c' (Relu) is on virtual graph 2, a replica has 2 processors: 0 to 1 needed");
  EXPECT_EQ(refusal(graph, {.mode = Mode::Manual, .processors = 3}), kAccepted);
  try {
    check(graph, {}, {.mode = Mode::Manual, .processors = 1});
    ADD_FAILURE();
  } catch (const LacksProcessors& error) {
    EXPECT_EQ(error.needed, 3);
  }
}

TEST(Check, NegativeNumbersAreRefused) {
  EXPECT_EQ(refusal(chain("", "__ipu_number=-1", ""), {}),
            "node 'b' (Relu): bad virtual graph -1 found, 0 or more needed");
  EXPECT_EQ(refusal(chain("", "__pipeline_stage=-2", ""), {}),
            "node 'b' (Relu): bad pipeline stage -2 found, 0 or more needed");
  EXPECT_EQ(refusal(chain("", "__execution_phase=-1", ""), {}),
            "node 'b' (Relu): bad execution phase -1 found, 0 or more needed");
}

TEST(Check, AnAnnotationOfAnotherKindIsRefused) {
  EXPECT_EQ(refusal(chain("", "__ipu_number=1.5", ""), {}),
            "node 'b' (Relu): __ipu_number is 1.5, a whole number needed");
  EXPECT_EQ(refusal(chain("", "__tile_set=2", ""), {}),
            "node 'b' (Relu): bad tile set 2 found, 0 to 1 needed");
  EXPECT_THAT(refusal(chain("", "__output_tensor_location=[1,0,0]", ""), {}),
              HasSubstr("node 'b' (Relu): __output_tensor_location is [1,0,0], [storage 0-1,"));
}

TEST(Check, PlainNamesCountAndMustNotContradict) {
  EXPECT_EQ(refusal(chain("virtualGraph=0", "__ipu_number=1", "virtualGraph=1"), kManual), kAccepted);
  EXPECT_EQ(refusal(chain("", "__ipu_number=1, virtualGraph=2", ""), {}),
            "node 'b' (Relu): __ipu_number 1 and virtualGraph 2 found, one virtual graph needed");
}

TEST(Check, PipeliningNeedsAModeAndTwoProcessors) {
  const ir::Graph one = chain("__ipu_number=0", "__ipu_number=0", "__ipu_number=0");
  EXPECT_EQ(refusal(one, {.pipelining = true}), "pipelining needs virtualGraphMode to be other than off");
  EXPECT_EQ(refusal(one, kPipelined), "pipelining needs more than 1 processor, all nodes are on one");
  EXPECT_EQ(refusal(one, {.mode = Mode::Auto, .pipelining = true, .processors = 1}),
            "pipelining needs more than 1 processor, 1 found");
}

TEST(Check, AllNodesHaveAStageOrNone) {
  EXPECT_EQ(
      refusal(chain("__ipu_number=0, __pipeline_stage=0", "__ipu_number=1", "__ipu_number=1"), kPipelined),
      "only some nodes have a pipeline stage: 2 have none: node 'b' (Relu), node 'c' (Relu)");
  EXPECT_EQ(refusal(chain("__ipu_number=0", "__ipu_number=1", "__ipu_number=1"), kPipelined), kAccepted);
}

TEST(Check, AStageIsOnOneVirtualGraph) {
  EXPECT_EQ(refusal(chain("__ipu_number=0, __pipeline_stage=0", "__ipu_number=1, __pipeline_stage=0",
                          "__ipu_number=1, __pipeline_stage=1"),
                    kPipelined),
            "node 'a' (Relu) and node 'b' (Relu) have the same pipeline stage 0, but are on virtual graphs 0 "
            "and 1: one stage is on one virtual graph");
}

TEST(Check, NoStageIsMissing) {
  EXPECT_EQ(refusal(chain("__ipu_number=0, __pipeline_stage=0", "__ipu_number=1, __pipeline_stage=2",
                          "__ipu_number=0, __pipeline_stage=3"),
                    kPipelined),
            "the nodes have 3 pipeline stages, but stage 1 is missing: stages 0 to 3 needed");
}

TEST(Check, AStageOfConstantsAloneIsThere) {
  const ir::Graph graph = graph_of(R"(g (float[2] x) => (float[2] c) <float[2] w = {1, 2}> {
    a = Relu<__ipu_number=0, __pipeline_stage=0> (x)
    b = Neg<__ipu_number=1, __pipeline_stage=1> (w)
    c = Add<__ipu_number=2, __pipeline_stage=2> (a, b)
  })");
  EXPECT_EQ(refusal(graph, kPipelined), kAccepted);
}

TEST(Check, AStageThatTheUserLetsDecreaseIsRefused) {
  EXPECT_EQ(
      refusal(chain("__ipu_number=1, __pipeline_stage=1", "__ipu_number=0, __pipeline_stage=0",
                    "__ipu_number=1, __pipeline_stage=1"),
              kPipelined),
      "tensor 'a' is consumed in an earlier pipeline stage than it is produced: node 'b' (Relu) has 0, its "
      "producer node 'a' (Relu) has 1");
}

TEST(Check, AStageInferredFromVirtualGraphsMustNotDecrease) {
  EXPECT_THAT(refusal(chain("__ipu_number=0", "__ipu_number=1", "__ipu_number=0"), kPipelined),
              HasSubstr("tensor 'b' is consumed in an earlier pipeline stage"));
  EXPECT_EQ(refusal(chain("__ipu_number=0, __pipeline_stage=0", "__ipu_number=1, __pipeline_stage=1",
                          "__ipu_number=0, __pipeline_stage=2"),
                    kPipelined),
            kAccepted);
}

std::string sharing(const std::string& weight) {
  return "g (float[2] x) => (float[2] b) <" + weight +
         "> { a = Add<__ipu_number=0> (x, w) b = Mul<__ipu_number=1> (a, w) }";
}

TEST(Check, AVariableOnTwoProcessorsOfAPipelineIsAccepted) {
  EXPECT_EQ(refusal(graph_of(sharing("float[2] w = {1, 2}")), kPipelined), kAccepted);
  EXPECT_EQ(refusal(graph_of(sharing("float[2] w = {1, 2}")), kManual), kAccepted);
}

TEST(Check, AnInputOnTwoProcessorsOfAPipelineIsAccepted) {
  EXPECT_EQ(refusal(graph_of("g (float[2] x) => (float[2] b) { a = Relu<__ipu_number=0> (x) b = "
                             "Add<__ipu_number=1> (a, x) }"),
                    kPipelined),
            kAccepted);
}

TEST(Check, NodesMarkedForRecomputationAreAcceptedWhenPipelining) {
  for (const char* asked : {"1", "2"}) {
    const std::string marked = fmt::format("__ipu_number=0, __recompute_output_in_backward_pass={}", asked);
    EXPECT_EQ(refusal(chain(marked, "__ipu_number=1", "__ipu_number=1"), kPipelined), kAccepted);
  }
}

TEST(Check, APhaseBeyondThePhasesIsRefused) {
  EXPECT_EQ(refusal(chain("__execution_phase=0", "__execution_phase=1", "__execution_phase=4"), kPhased),
            "node 'c' (Relu) has execution phase 4, the highest of 4 phases is 3");
}

TEST(Check, PhasesOutsideTheirModeAreNotLookedAt) {
  EXPECT_EQ(refusal(chain("__execution_phase=9", "", ""), {}), kAccepted);
  EXPECT_EQ(refusal(chain("__execution_phase=9", "", ""), {.mode = Mode::ExecutionPhases, .phases = 1}),
            kAccepted);
}

TEST(Check, PhaseAndVirtualGraphMustTakeTurns) {
  const ir::Graph graph = chain("__execution_phase=0, __ipu_number=2", "__execution_phase=1, __ipu_number=3",
                                "__execution_phase=2, __ipu_number=1");
  EXPECT_EQ(refusal(graph, kPhased),
            "node 'c' (Relu) has execution phase 2 and virtual graph 1: with 2 processors that take turns, "
            "both must leave the same remainder divided by 2");
  EXPECT_EQ(refusal(graph, {.mode = Mode::ExecutionPhases, .phases = 4, .phase_stages = 1}), kAccepted);
}

TEST(Check, APhaseOutsideTheNormalContextIsRefused) {
  EXPECT_EQ(
      refusal(
          chain("__execution_phase=0, __execution_context=2", "__execution_phase=0", "__execution_phase=0"),
          kPhased),
      "node 'a' (Relu) has execution phase 0 and execution context 2: phases are for the normal context, 0");
}

TEST(Check, APhaseThatDecreasesIsRefused) {
  EXPECT_EQ(
      refusal(chain("__execution_phase=2", "", "__execution_phase=1"), kPhased),
      "tensor 'b' is consumed in an earlier execution phase than it is produced: node 'c' (Relu) has 1, its "
      "producer node 'b' (Relu) has 2");
}

TEST(Check, APhaseThatNothingTellsIsRefused) {
  const ir::Graph graph = graph_of(
      "g (float[2] x) => (float[2] a, float[2] b) { a = Relu<__execution_phase=1> (x) b = Neg (x) }");
  EXPECT_EQ(refusal(graph, kPhased),
            "node 'b' (Neg): its execution phase is not given, nor that of an op before or after it");
}

TEST(Check, DeadEndsNeedNoPhase) {
  const ir::Graph graph = graph_of(
      "g (float[2] x) => (float[2] a, float[2] b) { a = Relu<__execution_phase=1> (x) c = Neg (x) b = "
      "Identity (x) }");
  EXPECT_EQ(refusal(graph, kPhased), kAccepted);
}

TEST(Check, InplacePreferencesComeInPairs) {
  EXPECT_EQ(refusal(chain("", R"(__inplace_op_names=["ReluInplace"])", ""), {}),
            "node 'b' (Relu): __inplace_op_names found without __inplace_op_priorities, either both or "
            "neither needed");
  EXPECT_EQ(refusal(chain("", R"(__inplace_op_names=["A", "B"], __inplace_op_priorities=[1.0])", ""), {}),
            "node 'b' (Relu): 2 names in __inplace_op_names and 1 numbers in __inplace_op_priorities found, "
            "as many of each needed");
}

TEST(Check, AnExcludedPatternMustExist) {
  EXPECT_EQ(refusal(chain("", R"(__exclude_patterns=["SplitGather", "OpToIdentiti"])", ""), {}),
            "node 'b' (Relu): invalid pattern name 'OpToIdentiti' in __exclude_patterns, the nearest is "
            "'OpToIdentity'");
}

TEST(Check, AModeOfSerialisedProductsMustExist) {
  EXPECT_EQ(refusal(chain("", R"(__serialize_matmul_mode="reducing")", ""), {}),
            "node 'b' (Relu): invalid mode name 'reducing' in __serialize_matmul_mode, the nearest is "
            "'reducing_dim'");
}

std::string refused_contexts(const std::string& nodes) {
  const ir::Graph graph = graph_of("g (float[2] x, float[2] w) => (float loss, float[2] z) {" + nodes + "}");
  return testing::refusal([&] { check_contexts(graph, "loss"); });
}

TEST(Check, WhatRunsForEachMicroBatchReadsNothingThatIsMadeOncePerUpdate) {
  EXPECT_EQ(refused_contexts("a = Abs <__execution_context = 1> (w) z = Mul (x, a) loss = ReduceSum (z)"),
            "node 'z' (Mul) runs for each micro-batch and reads 'a' of node 'a' (Abs), which runs once per "
            "update (__execution_context = 1): 0 needed there");
}

TEST(Check, TheLossIsMadeForEachMicroBatch) {
  EXPECT_EQ(refused_contexts("z = Mul (x, w) loss = ReduceSum <__execution_context = 1> (z)"),
            "loss 'loss' is made by node 'loss' (ReduceSum), which runs once per update "
            "(__execution_context = 1): derivatives need it for each micro-batch, 0 needed there");
}

TEST(Check, WhatTheLossDoesNotDependOnMayBeMadeOncePerUpdate) {
  EXPECT_EQ(refused_contexts("y = Mul (x, w) a = Abs <__execution_context = 1> (w) "
                             "z = Neg <__execution_context = 1> (a) loss = ReduceSum (y)"),
            kAccepted);
}

TEST(Check, ConstantsAreMadeOnceInAnyContext) {
  EXPECT_EQ(refused_contexts("k = Constant <value_floats = [1.0, 2.0]> () "
                             "a = Abs <__execution_context = 1> (k) z = Mul (x, a) loss = ReduceSum (z)"),
            kAccepted);
}

TEST(Check, SettingsNameInputsAndInitializersThatAreThere) {
  const ir::Graph graph = graph_of(sharing("float[2] w = {1, 2}"));
  EXPECT_EQ(refusal(graph, {}, {{"__tile_set/x", "1"}, {"__comm_group_type/w", "3"}, {"author", "a/b"}}),
            kAccepted);
  EXPECT_EQ(refusal(graph, {}, {{"__tile_set/xx", "1"}}),
            "metadata for input 'xx': there is none of that name, the nearest is 'x'");
  EXPECT_EQ(refusal(graph, {}, {{"__tile_set/x", "io"}}),
            "metadata '__tile_set/x': 'io' found, a whole number from 0 to 1 needed");
  EXPECT_EQ(refusal(graph, {}, {{"__comm_group_type/w", "1"}}),
            "metadata '__comm_group_size/w': 0 found, the number of replicas of a group needed");
}

}  // namespace
}  // namespace podium::annotate
