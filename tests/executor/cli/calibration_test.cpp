// `podium calibrate`: numbers of a machine that is known, and a file of the machine that tests.
#include "executor/cli/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "executor/device/read_device.h"
#include "executor/session/session.h"
#include "ir/files.h"
#include "tests/support/run_program.h"

namespace podium::cli {
namespace {

using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::run_program;
using testing::TemporaryFolder;

// Two threads: 100 GFMA/s each, 400 of bytes, 20 GB/s together, a cache of 26 MB at 80 GB/s and one of 3 MB
// at 160, 5 us to wake both.
device::Device known_machine() {
  return device::parse_device(
      R"({"base": "a100-80", "name": "known", "processorKind": "cpu", "processors": 1, "tiles": 2,
    "tileMemoryBytes": 8000000000, "clockHertz": 1e9, "matrixHalfHalf": 50, "matrixHalfSingle": 50,
    "matrixSingle": 100, "matrixQuarter": 400, "vectorBytesPerCycle": 60, "exchangeBytesPerCycle": 10,
    "phaseOverheadCycles": 300, "matrixOverheadHalfCycles": 200, "matrixOverheadSingleCycles": 200,
    "matrixWeightsSingleCycles": 400, "matrixShare": 1, "matrixFill": 4, "matrixTileExponent": 0,
    "convolutionShare": 0.5, "winogradShare": 1.5, "rowConvolutionShare": 0.7, "fewRowsShare": 0.6, "changingWeightsShare": 0.8, "aheadShare": 0.4,
    "attentionShare": 0.7, "rateSpread": 0, "cacheBytes": 25600000, "cacheSpeed": 4,
    "nearCacheBytes": 1600000, "nearCacheSpeed": 8, "readSpeed": 1.5,
    "spreadSeconds": 5e-6, "hostCallSeconds": 1e-6, "hostLoadBytesPerSecond": 1e15, "hostLoadLatencySeconds": 0,
    "hostStoreBytesPerSecond": 1e15, "hostStoreLatencySeconds": 0, "streamingLoadBytesPerSecond": 1e15,
    "streamingStoreBytesPerSecond": 1e15, "streamingLoadLatencySeconds": 0, "streamingStoreLatencySeconds": 0})");
}

ProbeTime clocked(const Probe& probe, const device::Device& machine) {
  importer::Model model{
      .graph = models::build(probe.model, probe.parameters).graph, .info = {}, .source = {}};
  const InferenceSession session(std::move(model), {.device = machine, .clock = true, .estimate = true});
  return {session.timeline()->makespan, session.timeline()->flop};
}

TEST(Calibrate, FindsTheNumbersOfAMachineThatIsKnown) {
  const device::Device known = known_machine();
  std::size_t probes = 0;
  const device::Device found = calibrate({2, known.memory_bytes()}, [&](const Probe& probe) {
    ++probes;
    return clocked(probe, known);
  });
  EXPECT_EQ(probes, probe_count());
  EXPECT_EQ(found.tiles, 2);
  EXPECT_EQ(found.memory_bytes(), known.memory_bytes());
  EXPECT_FALSE(found.synchronous);
  EXPECT_NEAR(found.matrix.single, 100, 5);
  EXPECT_NEAR(found.matrix.half_single, 50, 5);
  EXPECT_NEAR(found.matrix.quarter, 400, 40);
  EXPECT_NEAR(found.convolution_share, 0.5, 0.05);
  EXPECT_NEAR(found.winograd_share, 1.5, 0.15);
  EXPECT_NEAR(found.row_convolution_share, 0.7, 0.07);
  EXPECT_NEAR(found.few_rows_share, 0.6, 0.06);
  EXPECT_NEAR(found.attention_share, 0.7, 0.05);
  EXPECT_NEAR(found.changing_weights_share, 0.8, 0.04);
  EXPECT_NEAR(found.ahead_share, 0.4, 0.15);  // rows take twice as long as the weights are waited for
  EXPECT_NEAR(found.matrix_weights_single_cycles, 400, 100);
  EXPECT_NEAR(found.exchange_bytes_per_cycle, 10, 0.5);
  EXPECT_NEAR(found.cache_speed, 4, 0.5);
  EXPECT_NEAR(found.read_speed, 1.5, 0.1);
  EXPECT_NEAR(found.near_cache_speed, 8, 1);
  // The largest working sets asked for that are below 25.6 and 3.2 MB: of larger ones that machine keeps
  // nothing.
  EXPECT_NEAR(static_cast<double>(found.cache_bytes), 3 * 4 << 20, 1e5);
  EXPECT_NEAR(static_cast<double>(found.near_cache_bytes), 3 * 4 << 17, 1e5);
  EXPECT_NEAR(found.spread_seconds, 5e-6, 2.5e-6);  // it holds the overhead and the fill of its product
  EXPECT_NEAR(found.host_call_seconds, 1e-6, 0.5e-6);
}

// What is hidden behind multiply-adds is taken off a convolution's time all the same.
TEST(Calibrate, TakesNoConvolutionForFasterThanProducts) {
  device::Device known = known_machine();
  known.convolution_share = 1.3;
  known.winograd_share = 5;
  const device::Device found =
      calibrate({2, known.memory_bytes()}, [&](const Probe& probe) { return clocked(probe, known); });
  EXPECT_EQ(found.convolution_share, 1);
  EXPECT_EQ(found.winograd_share, 4);
}

TEST(Calibrate, StaysInTheRangesOfAFileWhateverTheTimesAre) {
  for (double seconds : {0.0, 1e-12, 1.0}) {
    const device::Device found = calibrate({1, 1 << 30}, [&](const Probe&) {
      return ProbeTime{seconds, 1e6};
    });
    const std::string text = device::to_json(found);
    EXPECT_EQ(device::to_json(device::parse_device(text)), text) << seconds;
  }
}

double predicted_seconds(const std::string& model, const std::string& device) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_program("podium-models " + model + " weights=none -o " + folder.file("m.onnx")).status, 0);
  const ProgramResult result = run_program("podium run --estimate --quiet --device " + device + " --report " +
                                           folder.file("r.json") + " " + folder.file("m.onnx"));
  EXPECT_EQ(result.status, 0) << result.err;
  return nlohmann::json::parse(ir::read_small_file(folder.file("r.json")))["seconds"];
}

TEST(CalibrateCommand, WritesADeviceByWhichPredictionsGrowWithWork) {
  const TemporaryFolder folder;
  const std::string file = folder.file("machine.json");
  const ProgramResult result = run_program("podium calibrate --seconds 0 --threads 1 --quiet --save " + file);
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "");
  const std::string text = ir::read_small_file(file);
  EXPECT_EQ(device::to_json(device::read_device(file)), text);
  EXPECT_EQ(device::read_device(file).tiles, 1);
  double before = 0;
  for (const char* batch : {"1", "64", "1024"}) {
    const double seconds = predicted_seconds(std::string("mnist-mlp batch=") + batch, file);
    EXPECT_GT(seconds, before) << batch;
    before = seconds;
  }
}

TEST(CalibrateCommand, MakesTheHostKnownForOneThreadAndForAll) {
  const TemporaryFolder folder;
  const std::string cache = "XDG_CACHE_HOME=" + folder.path() + " ";
  ASSERT_EQ(run_program("podium-models mnist-mlp -o " + folder.file("m.onnx")).status, 0);
  const std::string run = "podium run --device host " + folder.file("m.onnx");
  const ProgramResult never = run_program(run, cache);
  EXPECT_EQ(never.status, 1);
  EXPECT_EQ(never.err, "error: device 'host': " + folder.file("podium/host.json") +
                           " not found, this machine needs to be measured first: podium calibrate\n");
  ASSERT_EQ(run_program("podium calibrate --seconds 0 --quiet", cache).status, 0);
  for (const char* threads : {"", " --threads 1"}) {
    const ProgramResult known = run_program(run + threads, cache);
    EXPECT_EQ(known.status, 0) << known.err;
    EXPECT_THAT(known.out, HasSubstr("simulated"));
    EXPECT_THAT(known.out, HasSubstr("real time"));
  }
  folder.write("podium/host-1.json", "{}");
  const ProgramResult spoilt = run_program(run + " --threads 1", cache);
  EXPECT_EQ(spoilt.status, 1);
  EXPECT_EQ(spoilt.err,
            "error: device 'host:threads=1': " + folder.file("podium/host-1.json") +
                ": field 'processors' is missing: give it, or 'base', the name of a preset; podium "
                "calibrate writes it anew\n");
}

// What is measured with other threads leaves what is known of all of them.
TEST(CalibrateCommand, KeepsAFileForEachNumberOfThreads) {
  const TemporaryFolder folder;
  const std::string cache = "XDG_CACHE_HOME=" + folder.path() + " ";
  ASSERT_EQ(run_program("podium-models mnist-mlp -o " + folder.file("m.onnx")).status, 0);
  ASSERT_EQ(run_program("podium calibrate --seconds 0 --quiet --threads 1", cache).status, 0);
  EXPECT_TRUE(ir::is_there(folder.file("podium/host-1.json")));
  const bool has_one_thread = std::thread::hardware_concurrency() == 1;
  EXPECT_EQ(ir::is_there(folder.file("podium/host.json")), has_one_thread);
  const ProgramResult other =
      run_program("podium run --estimate --device host:threads=3 " + folder.file("m.onnx"), cache);
  EXPECT_EQ(other.status, 1);
  EXPECT_EQ(other.err,
            "error: device 'host:threads=3': " + folder.file("podium/host-3.json") +
                " not found, this machine needs to be measured first: podium calibrate --threads 3\n");
  const ProgramResult none =
      run_program("podium run --estimate --device host:threads=no " + folder.file("m.onnx"), cache);
  EXPECT_EQ(none.status, 1);
  EXPECT_EQ(none.err, "error: device 'host:threads=no': 'no' found, a number of threads needed\n");
}

TEST(CalibrateCommand, TakesNoModel) {
  const ProgramResult result = run_program("podium calibrate model.onnx");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("'model.onnx' found, no path needed"));
}

}  // namespace
}  // namespace podium::cli
