// What `podium compare` comes to, and what it says is typed.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProgramResult;
using testing::run_program;
using testing::TemporaryFolder;

class Verdict : public ::testing::Test {
 protected:
  std::string made(const std::string& recipe) {
    const std::string file = folder.file("model.onnx");
    EXPECT_EQ(run_program(fmt::format("podium-models {} -o {}", recipe, file)).status, 0);
    return file;
  }
  nlohmann::json json(const std::string& name) {
    return nlohmann::json::parse(std::ifstream(folder.file(name)));
  }
  static std::string line_after(const std::string& text, const std::string& start) {
    const std::size_t place = text.find(start);
    if (place == std::string::npos) return "";
    const std::size_t begin = place + start.size();
    return text.substr(begin, text.find('\n', begin) - begin);
  }

  TemporaryFolder folder;
};

TEST_F(Verdict, NamesTheBestItsCauseWhatHelpsAndTheCommand) {
  const std::string model = made("mnist-cnn");
  const ProgramResult result = run_program("podium compare " + model +
                                           " --ipus 4 --estimate --quiet --report " + folder.file("c.json"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\nbest: "), HasSubstr("% of the step is "),
                                HasSubstr("\nto run it: podium run " + model)));
  // The command gives the row's figure.
  const ProgramResult typed =
      run_program(line_after(result.out, "to run it: ") + " --quiet --report " + folder.file("r.json"));
  EXPECT_EQ(typed.status, 0) << typed.err;
  const nlohmann::json best = json("c.json")["strategies"][0]["run"];
  EXPECT_EQ(json("r.json")["samplesPerSecond"], best["samplesPerSecond"]);
  EXPECT_FALSE(best["whatIf"].empty());
}

TEST_F(Verdict, WhatHelpsGivesWhatTheClockSaid) {
  const std::string model = made("mnist-cnn");
  const ProgramResult result = run_program("podium compare " + model +
                                           " --ipus 2 --estimate --quiet --report " + folder.file("c.json"));
  const std::string command = line_after(result.out, "to run it: ");
  int tried = 0;
  const nlohmann::json compared = json("c.json");
  for (const nlohmann::json& what_if : compared["strategies"][0]["run"]["whatIf"]) {
    if (what_if["of"] != "strategy" || what_if.contains("refused")) continue;
    // The change replaces a flag of the same name: the last one counts.
    const std::string typed = fmt::format("{} {} --quiet --report {}", command,
                                          what_if["change"].get<std::string>(), folder.file("r.json"));
    const ProgramResult ran = run_program(typed);
    EXPECT_EQ(ran.status, what_if["fits"] ? 0 : 3) << typed << ran.err;
    EXPECT_EQ(json("r.json")["samplesPerSecond"], what_if["samplesPerSecond"]) << typed;
    ++tried;
  }
  EXPECT_GE(tried, 2);
}

TEST_F(Verdict, EveryRowsCommandGivesTheRowsFigure) {
  const std::string model = made("mnist-cnn");
  const std::string saved = folder.file("saved");
  ASSERT_EQ(run_program("podium compare " + model + " --ipus 4 --estimate --quiet --save " + saved +
                        " --report " + folder.file("c.json"))
                .status,
            0);
  std::map<std::string, double> rates;
  const nlohmann::json compared = json("c.json");
  for (const nlohmann::json& strategy : compared["strategies"]) {
    if (strategy.contains("run")) rates[strategy["name"]] = strategy["run"]["samplesPerSecond"];
  }
  std::ifstream commands(saved + "/commands.txt");
  std::string name;
  std::string command;
  std::size_t count = 0;
  while (std::getline(commands, name) && std::getline(commands, command)) {
    const ProgramResult typed = run_program(command + " --quiet --report " + folder.file("r.json"));
    EXPECT_EQ(typed.status, 0) << command << typed.err;
    EXPECT_EQ(json("r.json")["samplesPerSecond"], rates.at(name.substr(2))) << command;
    ++count;
  }
  EXPECT_EQ(count, rates.size());
}

TEST_F(Verdict, NothingThatFitsIsStatusThreeAndNamesTheNearest) {
  const std::string device =
      folder.write("d.json", R"({"base": "ipu-m2000", "tiles": 40, "tileMemoryBytes": 20000})");
  const ProgramResult result =
      run_program("podium compare " + made("mnist-mlp") + " --estimate --quiet --device " + device);
  EXPECT_EQ(result.status, 3) << result.out;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("nothing fits"), HasSubstr("the nearest is '"), HasSubstr("what would help")));
}

TEST_F(Verdict, WhatSavesMemoryTogetherIsTriedWhereSomethingDoesNotFit) {
  const std::string device =
      folder.write("d.json", R"({"base": "ipu-m2000", "tiles": 60, "tileMemoryBytes": 60000})");
  const ProgramResult result = run_program(
      "podium compare " + made("mnist-mlp loss=cross-entropy batch=16") +
      " --train --loss-tensor loss --optimizer adam --ipus 2 --estimate --quiet --device " + device);
  EXPECT_THAT(result.out, HasSubstr("recomputation, ")) << result.out << result.err;
}

TEST_F(Verdict, ComputesAsManyAsAreAskedFor) {
  const std::string model = made("mnist-cnn");
  EXPECT_THAT(run_program("podium compare " + model + " --ipus 2 --quiet --verify-only 2").out,
              HasSubstr("each of the 2 that were computed gave the numbers of one processor"));
  const ProgramResult none = run_program("podium compare " + model + " --ipus 2 --quiet --no-verify");
  EXPECT_EQ(none.status, 0);
  EXPECT_THAT(none.out, Not(HasSubstr("numbers of one processor")));
}

TEST_F(Verdict, SeveralNumbersOfProcessorsMakeATableOfScaling) {
  const ProgramResult result = run_program("podium compare " + made("mnist-cnn") + " --ipus 1,2,4 --quiet");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              ::testing::ContainsRegex("^processors +strategy .*\n +1 .*\n +2 .*\n +4 .*\n"
                                       "best: .* over 4 with [0-9,.]+ samples/s\n.* of the step is .*\n"
                                       "a processor gives the most over 1: .* over 4\n"
                                       "to run it: podium run .* --ipus 4 .*\n$"));
}

TEST_F(Verdict, AProcessorThatGivesAsMuchOverAnyNumberIsNotTold) {
  const ProgramResult result =
      run_program("podium compare " + made("mnist-cnn") + " --ipus 2,4 --estimate --quiet");
  EXPECT_THAT(result.out, AllOf(HasSubstr("best: one processor, 4 replicas over 4 with "),
                                Not(HasSubstr("a processor gives the most"))));
}

TEST_F(Verdict, ReplicasThatAreAskedForNarrowTheList) {
  const std::string command = "podium compare " + made("mnist-cnn") + " --no-verify --quiet ";
  const ProgramResult result = run_program(command + "--ipus 4 --replicas 2");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\npipelined over 2, 2 replicas "));
  EXPECT_THAT(result.out, Not(HasSubstr("4 replicas")));
  EXPECT_THAT(result.out, Not(HasSubstr("over 4")));
  const ProgramResult alone = run_program(command + "--ipus 4 --replicas 1");
  EXPECT_THAT(alone.out, Not(HasSubstr(", 2 replicas")));
}

TEST_F(Verdict, ReplicasThatDoNotDivideTheProcessorsAreToldWhatToType) {
  const std::string command = "podium compare " + made("mnist-cnn") + " --estimate --quiet ";
  const auto refused = [&](const std::string& flags, const std::string& line) {
    const ProgramResult result = run_program(command + flags);
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.err, "error: compare: " + line + "\n");
  };
  refused(
      "--ipus 4 --replicas 3",
      "3 replicas found (--replicas) over 4 processors (--ipus), a divisor needed (--replicas 4, or --ipus 6 "
      "--device ipu-pod16)");
  refused(
      "--ipus 1 --replicas 4 --device h100",
      "4 replicas found (--replicas) over 1 processor (--ipus), a divisor needed (--replicas 1, or --ipus 4)");
  // Nobody knows an IPU that is larger and of this kind.
  refused("--replicas 3 --device c600",
          "3 replicas found (--replicas) over 1 processor (--ipus), a divisor needed "
          "(--replicas 1)");
  for (const char* typed : {"--ipus 4 --replicas 4", "--ipus 6 --device ipu-pod16 --replicas 3",
                            "--ipus 4 --replicas 4 --device h100", "--replicas 1 --device c600"}) {
    EXPECT_EQ(run_program(command + typed).status, 0) << typed;
  }
}

TEST_F(Verdict, MoreProcessorsThanTheDeviceHasAreRefusedBeforeAnythingIsClocked) {
  const std::string command = "podium compare " + made("mnist-cnn") + " --estimate --quiet ";
  for (const char* processors : {"8", "1,8"}) {
    const ProgramResult result = run_program(command + "--device ipu-m2000 --ipus " + processors);
    EXPECT_EQ(result.status, 1) << processors;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("numIPUs: 8 found, device 'ipu-m2000' has 4 (--device ipu-pod16)"));
  }
  EXPECT_EQ(run_program(command + "--device ipu-pod16 --ipus 8").status, 0);
  // Without a device each number gets one that has so many.
  const ProgramResult scaled = run_program(command + "--ipus 1,8,32");
  EXPECT_EQ(scaled.status, 0) << scaled.err;
  EXPECT_THAT(scaled.out, HasSubstr(" over 32 with "));
}

TEST_F(Verdict, OnAGpuNothingHasTilesForIo) {
  const std::string command =
      "podium compare " + made("mnist-cnn") + " --ipus 4 --estimate --explain --quiet ";
  const ProgramResult gpu = run_program(command + "--device h100 --report " + folder.file("g.json"));
  EXPECT_THAT(gpu.out, AllOf(Not(HasSubstr("io-tiles")), Not(HasSubstr("IO")), HasSubstr("\nphases on 1 ")));
  std::vector<std::string> changes;
  const nlohmann::json compared = json("g.json");
  for (const nlohmann::json& one : compared["strategies"][0]["run"]["whatIf"])
    changes.push_back(one["change"].get<std::string>());
  EXPECT_THAT(changes, AllOf(Contains("multiprocessors"), Not(Contains(HasSubstr("--io-tiles"))),
                             Contains(HasSubstr("--off-chip"))));
  EXPECT_THAT(run_program(command).out, HasSubstr("IO overlapped"));
}

TEST_F(Verdict, ExplainSaysWhyMoreProcessorsAreFasterOrSlower) {
  const ProgramResult result =
      run_program("podium compare " + made("mnist-cnn") + " --ipus 1,2 --explain --quiet");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nwhat a sample's time is made of"));
  EXPECT_THAT(result.out, ::testing::ContainsRegex(
                              "over 2 is [0-9.]+ times as (fast|slow) as .* over 1: a sample takes"));
}

TEST_F(Verdict, RefusesFlagsThatHaveNoEffect) {
  for (const char* flag : {"--repeat 2", "--output-dir d", "--expected d"}) {
    const ProgramResult result = run_program(fmt::format("podium compare m.onnx {}", flag));
    EXPECT_EQ(result.status, 2) << flag;
    EXPECT_THAT(result.err, HasSubstr("unknown option"));
  }
  for (const char* flag : {"--pipeline", "--virtual-graph-mode auto"}) {
    const ProgramResult result = run_program(fmt::format("podium compare m.onnx {}", flag));
    EXPECT_EQ(result.status, 2) << flag;
    EXPECT_THAT(result.err, HasSubstr("which is what its list of strategies tries"));
  }
}

TEST_F(Verdict, SaysWhereNoStrategyCanCutAsAsked) {
  const std::string file = made("mnist-cnn");
  const std::string text =
      "note: no strategy cuts tensors over 3 devices: 2 processors found (--ipus), a multiple of 3 needed (--ipus "
      "3)\n";
  const std::string command = "podium compare " + file + " --estimate --tensor-parallel 3 --ipus ";
  EXPECT_THAT(run_program(command + "2").err, HasSubstr(text));
  EXPECT_THAT(run_program(command + "3").err, ::testing::Not(HasSubstr("no strategy cuts")));
}

TEST_F(Verdict, SaysHowManyProcessorsHaveRoomForACutAsAsked) {
  nlohmann::json device = nlohmann::json::parse(run_program("podium info --device ipu-pod16").out);
  device["name"] = "small";
  device["tileMemoryBytes"] = 1024;
  device["tiles"] = 40;
  const std::string command = "podium compare " + made("mnist-mlp") +
                              " --estimate --tensor-parallel 4 --device " +
                              folder.write("small.json", device.dump()) + " --ipus ";
  // Its weights are 3.7 MB.
  EXPECT_THAT(
      run_program(command + "4").err,
      HasSubstr("note: no strategy cuts tensors over 4 devices: 4 processors found (--ipus), which have no "
                "room for the weights\n"));
  device["tiles"] = 700;
  folder.write("small.json", device.dump());
  EXPECT_THAT(run_program(command + "4").err, HasSubstr("which have no room for the weights (--ipus 8)\n"));
  EXPECT_THAT(run_program(command + "8").err, Not(HasSubstr("no strategy cuts")));
}

TEST_F(Verdict, ExplainSaysWhatTheStepWaitsForAndWhatHelps) {
  const ProgramResult result =
      run_program("podium run " + made("mnist-cnn") +
                  " --ipus 4 --pipeline --estimate --explain --quiet --report " + folder.file("r.json"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("what the step waits for"), HasSubstr("what would help, by the clock:")));
  const nlohmann::json report = json("r.json");
  double of_path = 0;
  for (const nlohmann::json& part : report["path"]) of_path += part["share"].get<double>();
  EXPECT_LE(of_path, 1 + 1e-9);
  EXPECT_GT(of_path, 0.1);
  EXPECT_GE(report["whatIf"].size(), 6U);
}

// A store ends when its bytes have left the processor; the next one waits until they have left the machine.
TEST_F(Verdict, TheRateOfWhatLimitsIsThatOfItsLink) {
  const std::string model = made("gpt2 layers=1 hidden=32 heads=2 sequence=64 vocabulary=5000");
  const std::string command =
      "podium run " + model + " --device ipu-m2000 --estimate --quiet --batches-per-step 64";
  EXPECT_EQ(run_program(command + " --report " + folder.file("r.json")).status, 0);
  const nlohmann::json device = nlohmann::json::parse(run_program("podium info --device ipu-m2000").out);
  const nlohmann::json part = json("r.json")["path"][0];
  EXPECT_EQ(part["activity"], "hostStore");
  EXPECT_NEAR(part["times"], 64, 1e-9);
  const double rate = part["stepBytes"].get<double>() / part["stepSeconds"].get<double>();
  EXPECT_NEAR(rate / device["hostStoreBytesPerSecond"].get<double>(), 1, 0.03);
}

// Whatever limits a step: the part of the machine that is named is the one whose doubling gives the most.
TEST_F(Verdict, WhatLimitsAStepIsWhatCountsMostOfTheMachine) {
  const auto expect_most = [&](const std::string& recipe, const std::string& flags, const std::string& cause,
                               const std::string& part) {
    const ProgramResult result =
        run_program("podium run " + made(recipe) + " --estimate --explain --quiet " + flags);
    EXPECT_THAT(line_after(result.out, "\nbottleneck "), HasSubstr(cause)) << flags;
    EXPECT_THAT(result.out, HasSubstr("\nof the machine, " + part + " counts most: doubled, ")) << flags;
  };
  const std::string bert = "bert layers=2 hidden=128 heads=4 sequence=64 vocabulary=200";
  const std::string slow_links = folder.write(
      "slow.json", R"({"base": "ipu-m2000", "rungBytesPerSecond": 1e9, "railBytesPerSecond": 1e9})");
  expect_most(bert, "--tensor-parallel 2 --batches-per-step 8 --device " + slow_links,
              "exchanging with the devices of its cut", "links between processors");
  expect_most(bert, "", "the host's call", "the host and its link");
  expect_most(bert, "--off-chip weights --batches-per-step 8", "from streaming memory",
              "the way to streaming memory and the host");
  expect_most(bert, "--batches-per-step 64 --anchor '*=final'", "computing", "the clock");
}

TEST_F(Verdict, AProfileAddsUpToWhatThePathAndTheProcessorsSay) {
  const std::string model = made("mnist-cnn");
  ASSERT_EQ(run_program("podium profile " + model + " --ipus 2 --pipeline --quiet --report " +
                        folder.file("p.json"))
                .status,
            0);
  ASSERT_EQ(run_program("podium run " + model + " --ipus 2 --pipeline --estimate --quiet --report " +
                        folder.file("r.json"))
                .status,
            0);
  const nlohmann::json profile = json("p.json");
  const nlohmann::json report = json("r.json");
  double of_ops = 0;
  for (const nlohmann::json& op : profile["ops"]) of_ops += op["seconds"].get<double>();
  double computing = 0;
  double flop = 0;
  for (const nlohmann::json& processor : report["processors"]) {
    computing += processor["busySeconds"]["compute"].get<double>();
    flop += processor["flop"].get<double>();
  }
  EXPECT_NEAR(of_ops, computing, 1e-6 * computing);
  double of_op_flop = 0;
  for (const nlohmann::json& op : profile["ops"]) of_op_flop += op["flop"].get<double>();
  EXPECT_NEAR(of_op_flop, flop, 1e-9 * flop);
}

TEST_F(Verdict, AProfileOfTrainingTellsThePasses) {
  const ProgramResult result = run_program("podium profile " + made("mnist-mlp loss=cross-entropy") +
                                           " --train --loss-tensor loss --optimizer adam --quiet");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("ipu 0, forward"), HasSubstr("ipu 0, backward"), HasSubstr("ipu 0, update")));
}

TEST_F(Verdict, AProfileOfTrainingForRealTimesDerivativesAndUpdates) {
  const ProgramResult result =
      run_program("podium profile " + made("mnist-mlp loss=cross-entropy") +
                  " --train --loss-tensor loss --optimizer sgd --real --top 0 --quiet");
  EXPECT_EQ(result.status, 0) << result.err;
  const std::string real =
      result.out.substr(std::min(result.out.find("op on this machine"), result.out.size()));
  EXPECT_THAT(real, AllOf(HasSubstr("fc1/Gemm"), HasSubstr("_gradient"), HasSubstr("%")));
}

// Blocks come several times in the table of ops, once a kernel.
TEST_F(Verdict, TheKernelsOfAStepOfTrainingTakeWhatItsBlocksTake) {
  const std::string flags = made("mnist-cnn loss=cross-entropy") +
                            " --loss-tensor loss --optimizer adam --ipus 2 --pipeline --quiet ";
  ASSERT_EQ(run_program("podium profile " + flags + "--train --report " + folder.file("p.json")).status, 0);
  ASSERT_EQ(run_program("podium train " + flags + "--estimate --report " + folder.file("r.json")).status, 0);
  std::map<int, double> of_ops;
  std::map<std::string, double> of_passes;
  const nlohmann::json profile = json("p.json");
  const nlohmann::json report = json("r.json");
  for (const nlohmann::json& op : profile["ops"]) {
    of_ops[op["processor"]] += op["seconds"].get<double>();
    of_passes[op["pass"]] += op["seconds"].get<double>();
  }
  EXPECT_EQ(of_passes.size(), 3U);
  for (const nlohmann::json& processor : report["processors"]) {
    const auto computing = processor["busySeconds"]["compute"].get<double>();
    EXPECT_NEAR(of_ops[processor["processor"]], computing, 1e-6 * computing);
  }
}

TEST_F(Verdict, ARunSaysTheThreeBestChangesUnasked) {
  const ProgramResult result = run_program("podium run " + made("mnist-cnn") +
                                           " --ipus 2 --pipeline --quiet --report " + folder.file("r.json"));
  EXPECT_EQ(result.status, 0) << result.err;
  const std::string before = "what would help, by the clock:\n";
  ASSERT_THAT(result.out, HasSubstr(before));
  const std::string helps = result.out.substr(result.out.find(before) + before.size());
  int lines = 0;
  for (std::size_t at = helps.find("\n  --"); at != std::string::npos; at = helps.find("\n  --", at + 1))
    ++lines;
  EXPECT_LE(lines + 1, 3) << helps;
  EXPECT_GE(json("r.json")["whatIf"].size(), 6U);
}

// What a newcomer asks first, a command each.
TEST_F(Verdict, QuestionsOfANewcomerHaveAnAnswerInOneCommand) {
  const std::string model = made("mnist-cnn");
  EXPECT_THAT(run_program("podium run " + model + " --ipus 2 --pipeline --estimate --explain --quiet").out,
              ::testing::ContainsRegex(
                  "\nprocessor +idle +mostly behind +else mostly\n"
                  "ipu 0 +[0-9.]+%  the host's call, [0-9.]+%; ipu 1 [a-z ]+, [0-9.]+% +compute, "));
  EXPECT_THAT(
      run_program("podium annotate " + model + " --auto pipeline --ipus 2 --list").out,
      ::testing::ContainsRegex("\nfrom ipu +to  tensor +bytes\n +0 +1  [a-z0-9_/A-Z]+ +[0-9.]+ KiB\n"));
}

TEST_F(Verdict, NumbersAreToldStrategyByStrategyBelowTheTable) {
  const ProgramResult result =
      run_program("podium compare " + made("mnist-cnn") + " --ipus 2 --verify-only 2 --quiet");
  EXPECT_EQ(result.status, 0) << result.err;
  const std::string head = "\nnumbers, against those of one processor:\n";
  ASSERT_THAT(result.out, HasSubstr(head));
  EXPECT_LT(result.out.find("\nsharded over 2 "), result.out.find(head));
  const std::string below = result.out.substr(result.out.find(head) + head.size());
  EXPECT_THAT(below, ::testing::ContainsRegex("^  one processor[^\n]*  the same, bit for bit\n"
                                              "  [^\n]*  the same, bit for bit\neach of the 2 "));
}

TEST_F(Verdict, AProfileForRealTimesTheEnginesOps) {
  const ProgramResult result =
      run_program("podium profile " + made("mnist-cnn") + " --real --top 3 --filter 'conv*' --quiet");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("op on this machine"), HasSubstr("Conv"), Not(HasSubstr("fc1"))));
}

TEST_F(Verdict, ExplainedRowsSayWhatASamplesTimeIsMadeOf) {
  const ProgramResult result =
      run_program("podium compare " + made("mnist-cnn") + " --ipus 2 --estimate --explain --quiet");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::ContainsRegex("\nwhat a sample's time is made of +time +compute "
                                                   "[^\n]*the host's call\n"));
}

TEST_F(Verdict, AnExplainedRunListsWhatCrossesAndItsReportHasTheSame) {
  const std::string report = folder.file("crossings.json");
  const ProgramResult result =
      run_program("podium run " + made("mnist-cnn") +
                  " --ipus 2 --pipeline --estimate --explain --quiet --report " + report);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::ContainsRegex("\nfrom +to +what crosses +times +bytes\nipu 0 +ipu 1 "));
  const auto crossings = json("crossings.json")["crossings"];
  ASSERT_FALSE(crossings.empty());
  EXPECT_THAT(result.out, HasSubstr(crossings[0]["name"].get<std::string>()));
}

}  // namespace
}  // namespace podium::cli
