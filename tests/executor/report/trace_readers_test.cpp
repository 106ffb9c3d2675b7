// Traces in two readers that other people wrote, speedscope in chromium and the trace engine of Chrome
// DevTools: tools/check-trace says what of a file does not arrive there. Without the readers the test is
// skipped (tools/setup --browser fetches them).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "executor/report/trace.h"
#include "tests/executor/report/sample_timeline.h"
#include "tests/support/run_program.h"

namespace podium::report {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

std::string cache() {
  const char* given = std::getenv("PODIUM_CACHE");
  const char* home = std::getenv("HOME");
  return given != nullptr ? given : std::string(home == nullptr ? "" : home) + "/.cache/podium";
}

bool has(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

class TraceReaders : public ::testing::Test {
 protected:
  void SetUp() override {
    const bool are_there = std::filesystem::exists(cache() + "/trace-readers/node_modules/speedscope") &&
                           std::filesystem::exists(cache() + "/trace-readers/node_modules/legacy-javascript");
    if (!are_there || !has("node") || !has("chromium"))
      GTEST_SKIP() << "the readers are not installed (tools/setup --browser)";
  }

  void trace(const std::string& command, const std::string& file) {
    const auto result = testing::run_program(command + " --quiet --trace " + folder_.file(file));
    ASSERT_EQ(result.status, 0) << command << ": " << result.err;
    files_.push_back(folder_.file(file));
  }

  // What the readers say of all files, a line for each of them.
  std::string check() const {
    std::string line = PODIUM_SOURCE_DIR "/tools/check-trace";
    for (const std::string& file : files_) line += " " + file;
    status_ = std::system((line + " >" + folder_.file("said") + " 2>&1").c_str());
    std::ostringstream text;
    text << std::ifstream(folder_.file("said")).rdbuf();
    return text.str();
  }

  TemporaryFolder folder_;
  std::vector<std::string> files_;
  mutable int status_ = 0;
};

TEST_F(TraceReaders, GetEverySliceOfPipelinesReplicasFoldedRunsAndHostileNames) {
  const std::string model = folder_.file("model.onnx");
  ASSERT_EQ(testing::run_program("podium-models mnist-cnn -o " + model).status, 0);
  trace("podium run " + model + " --ipus 4 --pipeline --batches-per-step 24", "pipeline.json");
  trace("podium train " + model +
            " --estimate --ipus 4 --replicas 2 --virtual-graph-mode auto --pipeline --accumulate 8 "
            "--loss cross-entropy --output logits --optimizer sgd,lr=0.1",
        "training.json");
  trace("podium run " + model + " --estimate --ipus 4 --pipeline --batches-per-step 4000", "folded.json");
  sim::Timeline timeline = sample_timeline();
  timeline.events[0].name = "a \"quoted\" <script>\x01\n\\ name \xe2\x80\xa8 \xff";
  std::ofstream hostile(folder_.file("hostile.json"));
  write_trace({"model", "by hand", "two processors", "podium 1"}, timeline, hostile);
  hostile.close();
  files_.push_back(folder_.file("hostile.json"));
  const std::string said = check();
  EXPECT_EQ(status_, 0) << said;
  for (const std::string& file : files_) {
    EXPECT_THAT(said, HasSubstr(file + ": speedscope: "));
    EXPECT_THAT(said, HasSubstr(file + ": DevTools' trace engine: "));
  }
}

TEST_F(TraceReaders, AreSeenToComplain) {
  files_.push_back(
      folder_.write("faulty.json",
                    R"({"traceEvents":[{"ph":"M","name":"process_name","pid":0,"args":{"name":"ipu 0"}},
      {"ph":"M","name":"thread_name","pid":0,"tid":0,"args":{"name":"compute"}},
      {"ph":"B","name":"one","cat":"op","pid":0,"tid":0,"ts":0},{"ph":"E","name":"one","pid":0,"tid":0,"ts":5}]})"));
  const std::string said = check();
  EXPECT_NE(status_, 0);
  EXPECT_THAT(said, HasSubstr("Begin/End events mismatch"));
}

}  // namespace
}  // namespace podium::report
