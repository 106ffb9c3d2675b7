// `podium annotate` as a person types it, and what it leaves in the model.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "annotate/annotations.h"
#include "importer/export_graph.h"
#include "importer/import.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProgramResult;
using testing::run_program;
using ::testing::StartsWith;

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// A folder with a model of four nodes: conv -> relu -> left and right -> add.
class Annotate : public ::testing::Test {
 protected:
  ProgramResult run(const std::string& options) {
    return run_program("podium annotate " + model + " " + options);
  }
  ProgramResult write(const std::string& options) { return run(options + " -o " + out); }

  // "a: __ipu_number=1, b:", a node after the other by its output.
  std::string annotations(const std::string& path) {
    const ir::Graph graph = importer::import_model(path).graph;
    std::string text;
    for (const ir::Op& op : graph.ops) {
      text += fmt::format("{}{}:", text.empty() ? "" : ", ", graph[op.outputs[0]].name);
      for (const ir::Attribute& attribute : op.attributes) {
        if (annotate::is_placement(attribute.name)) {
          text += fmt::format(" {}={}", attribute.name, to_string(attribute.value));
        }
      }
    }
    return text;
  }

  void expect_refused(const ProgramResult& result, int status, const std::string& text) {
    EXPECT_EQ(result.status, status);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, AllOf(StartsWith("error: "), HasSubstr(text)));
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
    EXPECT_FALSE(std::filesystem::exists(out)) << "a file is left";
  }

  // ONNX text has no names of nodes.
  std::string named_model() {
    ir::Graph graph =
        testing::graph_of(R"(g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2,2,1,1] w = {1, 2, 3, 4}> {
      a = Conv (x, w)
      b = Relu (a)
      c = Neg (b)
      d = Exp (b)
      y = Add (c, d)
    })");
    const std::vector<std::string> names{"conv", "relu", "branch/left", "branch/right", ""};
    for (std::size_t i = 0; i < names.size(); ++i) graph.ops[i].name = names[i];
    importer::export_graph(graph, folder.file("model.onnx"));
    return folder.file("model.onnx");
  }

  const testing::TemporaryFolder folder;
  const std::string model = named_model();
  const std::string out = folder.file("out.onnx");
};

TEST_F(Annotate, WritesHowProductsArePlanned) {
  const std::string rules =
      folder.write("r.json", R"({"match": "conv", "partials": "half", "availableMemory": 0.5})");
  EXPECT_EQ(write("--from " + rules).status, 0);
  const ir::Graph graph = importer::import_model(out).graph;
  EXPECT_EQ(ir::attribute<std::string>(graph.ops[0], "__partials_type"), "half");
  EXPECT_EQ(ir::attribute<float>(graph.ops[0], "__available_memory"), 0.5F);
}

TEST_F(Annotate, PlacesByNameTypeAndPath) {
  const ProgramResult result =
      write("--ipu '*=0' --ipu 'branch/*=1' --ipu 'y=1' --stage 'type:Conv=0' --stage 'a..y=1'");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, out + ": 5 of 5 nodes annotated\n");
  EXPECT_EQ(annotations(out),
            "a: __ipu_number=0 __pipeline_stage=0, b: __ipu_number=0 __pipeline_stage=1, c: __ipu_number=1 "
            "__pipeline_stage=1, d: __ipu_number=1 __pipeline_stage=1, y: __ipu_number=1 __pipeline_stage=1");
  EXPECT_THAT(result.err, AllOf(StartsWith("note: "), HasSubstr("have the same pipeline stage 1")));
}

TEST_F(Annotate, ACommaInAPatternIsAComma) {
  EXPECT_EQ(write("--ipu '[cx,]*=3' --quiet").status, 0);
  EXPECT_EQ(annotations(out), "a: __ipu_number=3, b:, c: __ipu_number=3, d:, y:");
}

TEST_F(Annotate, FlagsWinOverTheFile) {
  const std::string rules = folder.write(
      "rules.json",
      R"([{"match": "*", "ipu": 0, "phase": 0}, {"match": "relu", "recompute": true, "ipu": 2}])");
  EXPECT_EQ(write("--ipu y=1 --quiet --from " + rules).status, 0);
  EXPECT_EQ(
      annotations(out),
      "a: __execution_phase=0 __ipu_number=0, b: __execution_phase=0 __ipu_number=2 "
      "__recompute_output_in_backward_pass=2, c: __execution_phase=0 __ipu_number=0, d: __execution_phase=0 "
      "__ipu_number=0, y: __execution_phase=0 __ipu_number=1");
}

TEST_F(Annotate, ClearGivesBackTheModelAsItWas) {
  EXPECT_EQ(write("").status, 0);
  const std::string plain = contents(out);
  EXPECT_EQ(write("--ipu '*=0' --stage '*=0'").status, 0);
  EXPECT_NE(contents(out), plain);
  const std::string cleared = folder.file("cleared.onnx");
  EXPECT_EQ(run_program("podium annotate " + out + " --clear -o " + cleared).status, 0);
  EXPECT_EQ(contents(cleared), plain);
}

TEST_F(Annotate, ShardsByCost) {
  const ProgramResult result = write("--auto shard --ipus 2");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(annotations(out), AllOf(StartsWith("a: __ipu_number=0"), HasSubstr("y: __ipu_number=1"),
                                      Not(HasSubstr("__pipeline_stage"))));
}

TEST_F(Annotate, PipelinesSoThatASessionTakesIt) {
  const ProgramResult result = write("--auto pipeline --ipus 3");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "") << "no note: nothing to refuse";
  EXPECT_THAT(annotations(out), AllOf(StartsWith("a: __ipu_number=0 __pipeline_stage=0"),
                                      HasSubstr("y: __ipu_number=2 __pipeline_stage=2")));
}

TEST_F(Annotate, CutsChunksWhereAScheduleWantsThem) {
  EXPECT_EQ(write("--auto pipeline --ipus 1 --schedule zb-v").status, 2) << "a pipeline needs two";
  EXPECT_EQ(write("--auto pipeline --ipus 2 --schedule zb-v").status, 0);
  EXPECT_THAT(
      annotations(out),
      AllOf(HasSubstr("__ipu_number=0 __pipeline_stage=0"), HasSubstr("__ipu_number=1 __pipeline_stage=1"),
            HasSubstr("__ipu_number=1 __pipeline_stage=2"), HasSubstr("__ipu_number=0 __pipeline_stage=3")));
  EXPECT_EQ(write("--auto pipeline --ipus 2 --chunks 2 --schedule interleaved").status, 0);
  EXPECT_THAT(annotations(out), AllOf(HasSubstr("__ipu_number=1 __pipeline_stage=1"),
                                      HasSubstr("__ipu_number=0 __pipeline_stage=2"),
                                      HasSubstr("__ipu_number=1 __pipeline_stage=3")));
  // The session adds the second copy.
  EXPECT_EQ(write("--auto pipeline --ipus 2 --schedule chimera").status, 0);
  EXPECT_THAT(annotations(out),
              AllOf(HasSubstr("__ipu_number=0 __pipeline_stage=0"),
                    HasSubstr("__ipu_number=1 __pipeline_stage=1"), Not(HasSubstr("__pipeline_stage=2"))));
}

TEST_F(Annotate, SaysWhatAScheduleNeeds) {
  expect_refused(write("--auto pipeline --ipus 2 --schedule zbv"), 2, "the nearest is 'zb-v'");
  expect_refused(write("--auto pipeline --ipus 2 --schedule zb-v --chunks 3"), 1,
                 "3 chunks on a processor found, 2 are needed");
  expect_refused(write("--auto pipeline --ipus 3 --schedule chimera"), 1, "an even number is needed");
  expect_refused(write("--auto shard --ipus 2 --schedule zb-v"), 2,
                 "--schedule: found without --auto pipeline");
  expect_refused(write("--auto shard --ipus 2 --chunks 2"), 2, "--chunks: found without --auto pipeline");
}

TEST_F(Annotate, PhasesTakeTurns) {
  EXPECT_EQ(write("--auto phases --phases 3").status, 0);
  EXPECT_THAT(annotations(out), AllOf(StartsWith("a: __execution_phase=0 __ipu_number=0"),
                                      HasSubstr("__execution_phase=1 __ipu_number=1"),
                                      HasSubstr("y: __execution_phase=2 __ipu_number=0")));
  EXPECT_EQ(write("--auto phases --phases 3 --ipus 1").status, 0);
  EXPECT_THAT(annotations(out), Not(HasSubstr("__ipu_number=1")));
}

TEST_F(Annotate, RulesWinOverAutomaticPlacement) {
  EXPECT_EQ(write("--auto shard --ipus 2 --ipu conv=7 --quiet").status, 0);
  EXPECT_THAT(annotations(out), StartsWith("a: __ipu_number=7,"));
}

TEST_F(Annotate, ListsThePlacementAndWhatEachProcessorDoes) {
  const ProgramResult result = run("--list --ipu '*=0' --ipu 'branch/left=1'");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out,
            "node          type  ipu\n"
            "conv          Conv    0\n"
            "relu          Relu    0\n"
            "branch/left   Neg     1\n"
            "branch/right  Exp     0\n"
            "y             Add     0\n"
            "\n"
            "ipu  ops  parameters  FLOP  in     out\n"
            "  0    4           4   448  256 B  256 B\n"
            "  1    1           0    32  128 B  128 B\n"
            "\n"
            "from ipu  to  tensor  bytes\n"
            "       0   1  b       128 B\n"
            "       1   0  c       128 B\n");
}

TEST_F(Annotate, ListsWhatNodesInheritAndSay) {
  const ProgramResult result =
      run("--list --stage 'relu=0' --ipu 'relu=0' --stage 'y=1' --ipu 'y=1' --quiet");
  EXPECT_THAT(result.out, AllOf(HasSubstr("conv          Conv    0      0  inherited\n"),
                                HasSubstr("branch/left   Neg     0      0  inherited\n"),
                                HasSubstr("y             Add     1      1\n")));
}

TEST_F(Annotate, WhatItPlacesRunsThere) {
  const std::string run = "podium run --quiet " + out + " --batches-per-step 4 ";
  EXPECT_EQ(write("--auto pipeline --ipus 3").status, 0);
  EXPECT_THAT(run_program(run + "--virtual-graph-mode manual --pipeline").out,
              HasSubstr("processors          3\n"));
  EXPECT_EQ(write("--auto phases --phases 3").status, 0);
  EXPECT_THAT(run_program(run + "--virtual-graph-mode execution-phases --phases 3").out,
              HasSubstr("processors          2\n"));
}

TEST_F(Annotate, AModelWithoutNodesHasNothingToPlace) {
  const std::string empty = folder.write("empty.onnxtxt", R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[2] x) => (float[2] x) { })");
  EXPECT_EQ(run_program("podium annotate --list " + empty).status, 0);
  EXPECT_EQ(run_program("podium annotate --auto shard --ipus 1 -o " + out + " " + empty).status, 0);
  EXPECT_THAT(run_program("podium annotate --auto shard --ipus 2 -o " + out + " " + empty).err,
              HasSubstr("can be cut into 1 part at most"));
}

TEST_F(Annotate, RefusesAWrongCommandLine) {
  expect_refused(run(""), 2, "annotate: -o OUT.onnx or --list needed");
  expect_refused(run("-o out.onnxtxt"), 2, "models are written in binary");
  expect_refused(write("--stag y=1"), 2, "unknown option '--stag', the nearest is '--stage'");
  expect_refused(write("--stage y"), 2, "--stage: 'y' found, 'PATTERN=N' needed");
  expect_refused(write("--ipu y=-1"), 2, "--ipu y=-1: '-1' found");
  expect_refused(write("--auto shards --ipus 2"), 2, "the nearest is 'shard'");
  expect_refused(write("--auto shard"), 2, "--ipus N needed");
  expect_refused(write("--ipus 2"), 2, "--ipus: found without --auto");
  expect_refused(write(model), 2, "2 models found, one needed");
}

TEST_F(Annotate, RefusesPatternsAndFilesThatDoNotFit) {
  expect_refused(write("--stage rel=1"), 1,
                 model + ": pattern 'rel' matches no node, the nearest name is 'relu'");
  expect_refused(write("--from " + folder.file("none.json")), 1, "none.json");
  expect_refused(write("--from " + folder.write("bad.json", "[{\"mtch\": 1}]")), 1,
                 "bad.json: rule 1: unknown name 'mtch', the nearest is 'match'");
  expect_refused(write("--from " + folder.write("other.json", R"([{"match": "z*", "ipu": 1}])")), 1,
                 "other.json: pattern 'z*' matches no node");
  expect_refused(run("-o " + folder.file("none/out.onnx")), 1, "none/out.onnx: cannot be written");
  expect_refused(write("--auto pipeline --ipus 9"), 1,
                 "could not find enough splits for 9 processors or phases: the model can be cut into ");
  expect_refused(write("--auto phases --phases 9"), 1, " at most (--phases ");
  expect_refused(write("--auto shard --ipus 2 --device ipu-m3000"), 1, "ipu-m");
}

TEST_F(Annotate, LeavesWhatWasThereWhenItFails) {
  std::ofstream(out) << "precious";
  EXPECT_EQ(write("--stage rel=1").status, 1);
  EXPECT_EQ(contents(out), "precious");
}

TEST_F(Annotate, ACallOfAFunctionIsOneNode) {
  const std::string calling =
      folder.write("calling.onnxtxt", R"(<ir_version: 8, opset_import: ["": 17, "own": 1]>
    g (float[2] x) => (float[2] y) {
      block = own.Block (x)
      y = Neg (block)
    }
    <domain: "own", opset_import: ["": 17]> Block (p) => (r) {
      q = Relu (p)
      r = Exp (q)
    })");
  const auto annotate = [&](const std::string& options) {
    return run_program("podium annotate " + calling + " --quiet -o " + out + " " + options);
  };
  expect_refused(annotate("--ipu block/q=1"), 1,
                 "are parts of one node of the model, which has one __ipu_number");
  EXPECT_EQ(annotate("--ipu block=1 --ipu y=0").status, 0);
  EXPECT_EQ(annotations(out), "block/q: __ipu_number=1, block: __ipu_number=1, y: __ipu_number=0");
  std::filesystem::remove(out);
  EXPECT_EQ(annotate("--auto shard --ipus 2").status, 0);
  EXPECT_EQ(annotations(out), "block/q: __ipu_number=0, block: __ipu_number=0, y: __ipu_number=1");
}

TEST_F(Annotate, PlacesAModelWhoseShapesAreComputed) {
  const std::string dynamic = folder.write("dynamic.onnxtxt", R"(<ir_version: 8, opset_import: ["": 17]>
    g (float[N,6] x) => (float[N,2,3] y) <int64[1] first = {0}, int64[2] rest = {2, 3}> {
      shape = Shape (x)
      n = Gather (shape, first)
      wanted = Concat <axis = 0> (n, rest)
      a = Relu (x)
      y = Reshape (a, wanted)
    })");
  const std::string command = "podium annotate " + dynamic + " --auto shard --ipus 2 -o " + out;
  EXPECT_THAT(run_program(command).err, HasSubstr("note: 1 taken for N: others by --dim N=2"));
  EXPECT_EQ(run_program(command + " --dim N=4").status, 0);
  EXPECT_EQ(annotations(out),
            "shape: __ipu_number=1, n: __ipu_number=1, wanted: __ipu_number=1, a: __ipu_number=0, y: "
            "__ipu_number=1");
}

TEST(AnnotateHelp, NamesEveryOption) {
  const ProgramResult result = run_program("podium annotate --help");
  EXPECT_EQ(result.status, 0);
  for (const char* option : {"--stage", "--ipu", "--phase", "--from", "--auto", "--ipus", "--chunks",
                             "--schedule", "--clear", "--list", "-o"}) {
    EXPECT_THAT(result.out, HasSubstr(option));
  }
}

TEST_F(Annotate, CutsTensorsWhereTheyAreMadeOrReadAndListsTheParts) {
  const ProgramResult result = write("--shard 'w:0=2' --shard 'b:1=2@1,0' --configuration halves --list");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const std::string cut =
      "configuration halves: 2 devices, 2 nodes, 0 stages\n"
      "node  stage  tensor  devices  holds           bytes\n"
      "conv      -  w             0  [0:1, :, :, :]  8 B\n"
      "conv      -  w             1  [1:2, :, :, :]  8 B\n"
      "relu      -  b             1  [:, 0:1, :, :]  64 B\n"
      "relu      -  b             0  [:, 1:2, :, :]  64 B\n";
  EXPECT_THAT(result.out, HasSubstr(cut));
  EXPECT_THAT(run_program("podium info " + out + " --configuration halves").out,
              HasSubstr(cut.substr(cut.find('\n') + 1)));
  const ProgramResult listed = run_program("podium annotate " + out + " --list");
  EXPECT_THAT(listed.out, HasSubstr(cut));
}

TEST_F(Annotate, ReplacesAConfigurationAndKeepsOthers) {
  EXPECT_EQ(write("--shard 'w:0=2' --configuration a").status, 0);
  const std::string second = folder.file("second.onnx");
  EXPECT_EQ(run_program("podium annotate " + out + " --shard '*:0=1@1' -o " + second).status, 0);
  EXPECT_EQ(run_program("podium annotate " + second + " --shard 'x:1=2' --configuration a -o " + out).status,
            0);
  const std::string listed = run_program("podium annotate " + out + " --list").out;
  EXPECT_THAT(listed, HasSubstr("configuration a: 2 devices, 1 node, 0 stages\n"
                                "node  stage  tensor  devices  holds           bytes\n"
                                "conv      -  x             0  [:, 0:1, :, :]  64 B\n"));
  EXPECT_THAT(listed, HasSubstr("configuration podium: 2 devices, 5 nodes, 0 stages\n"));
}

TEST_F(Annotate, ListsManyShardsThatAreAlikeAsOneLine) {
  const std::string wide = folder.write(
      "wide.onnxtxt",
      "<ir_version: 8, opset_import: [\"\": 17]> g (float[70000] x) => (float[70000] y) { y = Neg (x) }");
  EXPECT_THAT(run_program("podium annotate " + wide + " --shard 'x:0=35000' --devices 35000 --list").out,
              HasSubstr("y         -  x       0 to 34999  [0:2] to [69998:70000]  8 B\n"));
  EXPECT_THAT(run_program("podium annotate " + wide + " --shard 'x:0=2@0+1+2+3+9,4+5' --list").out,
              HasSubstr("y         -  x         0-3,9  [0:35000]      136.72 KiB\n"));
}

TEST_F(Annotate, CutsTensorsOfOpenSizes) {
  const std::string open = folder.write(
      "open.onnxtxt",
      "<ir_version: 8, opset_import: [\"\": 17]> g (float[n,4] x) => (float[n,4] y) { y = Neg (x) }");
  const ProgramResult result = run_program("podium annotate " + open + " --shard 'y:0=2' -o " + out);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out, out + ": configuration podium: 2 devices, 1 node, 0 stages\n");
}

TEST_F(Annotate, RefusesCutsThatDoNotFitInALineEach) {
  expect_refused(write("--shard 'w2:0=2'"), 1,
                 "--shard 'w2:0=2': no tensor of that name found, the nearest is 'w'");
  expect_refused(write("--shard 'w:4=2'"), 1,
                 "--shard 'w:4=2': tensor 'w': axis 4 of a tensor of rank 4 found, -4 to 3 needed");
  expect_refused(write("--shard 'w:0=2,-4=2'"), 1, "axis 0 is sharded twice");
  expect_refused(write("--shard 'w:0=2' --shard 'b:0=1,2=4'"), 1,
                 "'w:0=2': 2 shards found for 4 devices, as many or the devices of each needed");
  expect_refused(write("--shard 'w:0=2' --devices 1"), 1, "'w:0=2': 2 devices needed, 1 found");
  expect_refused(write("--shard 'w'"), 2, "--shard: 'w': 'PATTERN:AXIS=SHARDS' needed");
  expect_refused(
      write("--devices 2"), 2,
      "--devices: found without --shard, --tensor-parallel, --context-parallel, --spatial-parallel or "
      "--sample-parallel");
  expect_refused(write("--configuration c"), 2, "--configuration: found without --shard");
}

TEST_F(Annotate, WarnsOfShardsThatHoldNothing) {
  const ProgramResult result = write("--shard 'w:0=4'");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(
      result.err,
      "warning: --shard 'w:0=4': tensor 'w' has 2 elements along axis 0 for 4 shards, so that some hold "
      "nothing\n");
}

class AnnotateBlocks : public Annotate {
 protected:
  // A model of Podium's own with two layers of four heads.
  std::string shipped(const std::string& words) {
    const std::string file = folder.file("shipped.onnx");
    const std::string sizes = " layers=2 hidden=16 heads=4 sequence=6 vocabulary=10 ";
    EXPECT_EQ(run_program("podium-models " + words + sizes + "-o " + file).status, 0);
    return file;
  }
};

TEST_F(AnnotateBlocks, CutsTheBlocksOfTransformersByThemselves) {
  const ProgramResult bert =
      run_program("podium annotate " + shipped("bert") + " --tensor-parallel 4 --configuration tp -o " + out);
  EXPECT_EQ(bert.err,
            "note: 2 attention blocks, 2 MLPs, 1 embedding cut over 4 devices; 1 product stays whole: "
            "pooler/dense/Gemm\n");
  EXPECT_EQ(bert.out, out + ": configuration tp: 4 devices, 21 nodes, 0 stages\n");
  const ProgramResult gpt =
      run_program("podium annotate " + shipped("gpt2") + " --tensor-parallel 2 -o " + out);
  EXPECT_EQ(gpt.err, "note: 2 attention blocks, 2 MLPs, 1 embedding, 1 head cut over 2 devices\n");
  EXPECT_THAT(run_program("podium info " + out + " --configuration podium").out,
              HasSubstr("[:, 0:8+16:24+32:40]"));
}

TEST_F(AnnotateBlocks, CutsTokensInEachSequence) {
  const std::string file = shipped("gpt2 batch=2");
  EXPECT_EQ(
      run_program("podium annotate " + file + " --tensor-parallel 2 --sequence-parallel -o " + out).status,
      0);
  EXPECT_THAT(run_program("podium info " + out + " --configuration podium").out,
              AllOf(HasSubstr("  0  [0:3+6:9, :]"), HasSubstr("  1  [:, 3:6, :]")));
}

TEST_F(AnnotateBlocks, SharesOutExperts) {
  const std::string file = shipped("moe experts=4 inner=8 kv_heads=2");
  const ProgramResult result = run_program(
      "podium annotate " + file + " --tensor-parallel 4 --expert-parallel 2 --configuration ep -o " + out);
  EXPECT_EQ(
      result.err,
      "note: 2 attention blocks, 2 expert layers, 1 embedding, 1 head cut over 4 devices; 2 products stay "
      "whole: layers.0/mlp/gate/MatMul, layers.1/mlp/gate/MatMul\n");
  EXPECT_THAT(run_program("podium info " + out + " --configuration ep").out,
              AllOf(HasSubstr("layers.0/mlp/experts/up_proj.weight                   1  [0:2, :, 4:8]"),
                    HasSubstr("layers.0/mlp/experts/down_proj.weight                 2  [2:4, 0:4, :]")));
  EXPECT_EQ(run_program("podium annotate " + file + " --expert-parallel 2 -o " + out).status, 2);
}

TEST_F(AnnotateBlocks, TakesOpenSizesAsLongAsNoTokensAreCut) {
  const std::string file = shipped("gpt2 shapes=dynamic");
  const ProgramResult whole = run_program("podium annotate " + file + " --tensor-parallel 2 -o " + out);
  EXPECT_EQ(whole.status, 0) << whole.err;
  EXPECT_THAT(whole.err, HasSubstr("2 attention blocks, 2 MLPs, 1 embedding, 1 head cut over 2 devices"));
  const ProgramResult tokens =
      run_program("podium annotate " + file + " --tensor-parallel 2 --sequence-parallel -o " + out);
  EXPECT_EQ(tokens.status, 1);
  EXPECT_THAT(tokens.err, HasSubstr("--dim"));
}

TEST_F(AnnotateBlocks, RefusesWhatCannotBeSharedOut) {
  expect_refused(write("--tensor-parallel 2"), 1, "no attention, MLP or pair of convolutions found");
  expect_refused(write("--sequence-parallel"), 2, "--sequence-parallel: found without --tensor-parallel");
  expect_refused(write("--tensor-parallel 2 --devices 1"), 1, "--tensor-parallel 2: 1 devices found");
}

}  // namespace
}  // namespace podium::cli
