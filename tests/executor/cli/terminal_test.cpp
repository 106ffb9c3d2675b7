// What a person sees on a terminal: util-linux's `script` gives the program one.
#include "executor/cli/terminal.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProgramResult;
using testing::run_program;
using testing::TemporaryFolder;

class OnATerminal : public ::testing::Test {
 protected:
  // Both streams of the program, as a terminal of so many columns gets them.
  static std::string seen(const std::string& arguments, int columns, const std::string& variables = "") {
    const std::string line = fmt::format("{} {}", PODIUM_PROGRAM, arguments);
    return run_program(
               fmt::format("podium --version >/dev/null; env TERM=xterm COLUMNS={} {} script -qec \"{}\" "
                           "/dev/null </dev/null",
                           columns, variables, line))
        .out;
  }

  // Without what stands only for a moment.
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      line.erase(std::remove(line.begin(), line.end(), '\r'), line.end());
      lines.push_back(line.substr(line.rfind("\033[K") == std::string::npos ? 0 : line.rfind("\033[K") + 3));
    }
    return lines;
  }

  std::string model() {
    const std::string file = folder.file("m.onnx");
    EXPECT_EQ(run_program("podium-models mnist-cnn loss=cross-entropy -o " + file).status, 0);
    return file;
  }

  TemporaryFolder folder;
};

TEST_F(OnATerminal, TablesKeepToItsWidth) {
  const std::string file = model();
  for (const std::string& command :
       {"run " + file + " --ipus 2 --pipeline --quiet", "info " + file + " --quiet",
        "annotate " + file + " --auto pipeline --ipus 2 --list --quiet",
        "profile " + file + " --ipus 2 --quiet"}) {
    const std::string text = seen(command, 72);
    const std::string tables = text.substr(0, text.find("what would help"));
    EXPECT_GE(lines_of(tables).size(), 6U) << command << text;
    for (const std::string& line : lines_of(tables)) {
      const bool is_sentence = line.find(" of computing in a step of ") != std::string::npos;
      EXPECT_TRUE(line.size() <= 72 || is_sentence) << command << ": " << line;
    }
  }
}

TEST_F(OnATerminal, ABarSaysWhatRunsAndGoesAgain) {
  const std::string file = model();
  const std::string text = seen("compare " + file + " --ipus 2 --verify-only 2", 100);
  EXPECT_THAT(text, AllOf(HasSubstr("\rimporting "),
                          HasSubstr("\r[                    ] 0/2 strategies computed  one "
                                    "processor\033[K"),
                          HasSubstr("] 1/2 strategies computed  "), HasSubstr("\r\033[K")));
  EXPECT_THAT(seen("compare " + file + " --ipus 2 --verify-only 2 --quiet", 100),
              Not(HasSubstr("strategies computed")));
  const ProgramResult piped = run_program("podium compare " + file + " --ipus 2 --verify-only 2");
  EXPECT_THAT(piped.out + piped.err, AllOf(Not(HasSubstr("\033")), Not(HasSubstr("\r"))));
}

TEST_F(OnATerminal, TheBestRowStandsOutUnlessColoursAreNotWanted) {
  const std::string command = "compare " + model() + " --ipus 2 --no-verify --quiet";
  EXPECT_THAT(seen(command, 100), HasSubstr("\033[1;32mone processor"));
  EXPECT_THAT(seen(command, 100, "NO_COLOR=1"), Not(HasSubstr("\033[1;32m")));
}

}  // namespace
}  // namespace podium::cli
