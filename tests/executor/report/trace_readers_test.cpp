// Traces in two programs of other people that draw them, speedscope and the trace engine of Chrome DevTools, to
// which tools/check-trace hands them. Without these the tests are skipped (tools/setup --browser fetches them).
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/run_program.h"

namespace podium::report {
namespace {

class TraceReaders : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : {"node", "chromium"}) {
      if (std::system(fmt::format("command -v {} >/dev/null 2>&1", program).c_str()) != 0)
        GTEST_SKIP() << program << " is not installed (tools/setup --browser)";
    }
    const char* cache = std::getenv("PODIUM_CACHE");
    const char* home = std::getenv("HOME");
    const std::filesystem::path folder =
        cache != nullptr ? std::filesystem::path(cache) : std::filesystem::path(home == nullptr ? "" : home) / ".cache/podium";
    if (!std::filesystem::exists(folder / "trace-readers/node_modules"))
      GTEST_SKIP() << folder << " has no readers of traces (tools/setup --browser)";
  }

  std::string model(const std::string& description) const {
    const std::string path = folder_.file("model.onnx");
    EXPECT_EQ(testing::run_program("podium-models " + description + " -o " + path).status, 0);
    return path;
  }

  // What the readers say of the trace of a command line; "" where every slice arrives.
  std::string said_of(const std::string& command) const {
    const std::string trace = folder_.file("trace.json");
    const auto result = testing::run_program(command + " --quiet --estimate --trace " + trace);
    EXPECT_EQ(result.status, 0) << command << ": " << result.err;
    const int status = std::system(fmt::format("timeout 120 {}/tools/check-trace {} >{}/said 2>&1", PODIUM_SOURCE_DIR,
                                               trace, folder_.path())
                                       .c_str());
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
    std::ostringstream text;
    text << std::ifstream(folder_.file("said")).rdbuf();
    return text.str();
  }

  testing::TemporaryFolder folder_;
};

TEST_F(TraceReaders, DrawEverySliceOfAPipeline) {
  EXPECT_EQ(said_of("podium run " + model("mnist-cnn batch=4") + " --ipus 4 --pipeline --batches-per-step 40"), "");
}

TEST_F(TraceReaders, DrawEverySliceOfPhasesWithReplicasAndIoTiles) {
  EXPECT_EQ(said_of("podium run " + model("mnist-cnn batch=4") +
                    " --virtual-graph-mode execution-phases --phases 4 --off-chip weights --ipus 4 --replicas 2 "
                    "--io-tiles 64"),
            "");
}

TEST_F(TraceReaders, DrawEverySliceOfATrainingWithReplicas) {
  EXPECT_EQ(said_of("podium train " + model("mnist-cnn batch=4 loss=cross-entropy") +
                    " --loss-tensor loss --optimizer adam --replicas 2 --ipus 4 --pipeline --batches-per-step 2 "
                    "--shard optimizer --shard-threshold 0"),
            "");
}

}  // namespace
}  // namespace podium::report
