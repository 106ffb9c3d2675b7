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
  const ProgramResult odd = run_program(command + "--ipus 4 --replicas 3");
  EXPECT_EQ(odd.status, 1);
  EXPECT_THAT(odd.err,
              HasSubstr("3 replicas found (--replicas) over 4 processors (--ipus), a divisor needed"));
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
  const std::string text = "note: no strategy cuts tensors over 3 devices: 2 processors found (--ipus)";
  const std::string command = "podium compare " + file + " --estimate --tensor-parallel 3 --ipus ";
  EXPECT_THAT(run_program(command + "2").err, HasSubstr(text));
  EXPECT_THAT(run_program(command + "3").err, ::testing::Not(HasSubstr("no strategy cuts")));
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
