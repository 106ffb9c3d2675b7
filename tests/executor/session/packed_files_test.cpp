#include "executor/session/packed_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "executor/session/session.h"
#include "importer/export_graph.h"
#include "importer/import.h"
#include "ir/builder.h"
#include "tests/support/refusal.h"
#include "tests/support/run_program.h"

namespace podium {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::TemporaryFolder;

constexpr std::int64_t kWidth = 256;

std::vector<float> pattern(std::int64_t size, int step) {
  std::vector<float> numbers(size);
  for (std::int64_t i = 0; i < size; ++i) numbers[i] = static_cast<float>(i * step % 17 - 8) / 16;
  return numbers;
}

enum class Weights : std::uint8_t { AsGiven, Transposed };

// y = x w, with the weights in the file.
void write_product(const std::string& path, int step, Weights weights = Weights::AsGiven) {
  ir::Graph graph;
  ir::Builder build(graph);
  const ir::ValueId x = build.input("x", ir::Type::tensor(ir::DataType::Float, {8, kWidth}));
  ir::ValueId w =
      build.constant(ir::Tensor::of<float>({kWidth, kWidth}, pattern(kWidth * kWidth, step)), "w");
  if (weights == Weights::Transposed) w = build.op("Transpose", {w});
  build.output(build.op("MatMul", {x, w}));
  importer::export_graph(graph, path);
}

struct Ran {
  ir::Tensor y;
  Notes notes;
};

Ran run(const std::string& model, const std::string& folder) {
  SessionOptions options;
  if (!folder.empty()) options.strategy.cache = {.enabled = true, .path = folder};
  InferenceSession session(importer::import_model(model, {.large_data = importer::LargeData::InFile}),
                           options);
  const std::vector<ir::Datum> inputs{ir::Tensor::of<float>({8, kWidth}, pattern(8 * kWidth, 5))};
  return {session.run(inputs)[0].tensor.clone(), session.notes()};
}

std::vector<std::string> files_in(const std::string& folder, std::string_view ending = ".packed") {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ending) files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Keeps what a test packs.
ir::Tensor put(kernels::PackedStore& store, std::uint64_t key, char contents) {
  return store.get({.low = key}, 1000, [&] {
    ir::Tensor made(ir::DataType::Uint8, {1000});
    std::fill_n(made.data<std::uint8_t>(), 1000, static_cast<std::uint8_t>(contents));
    return made;
  });
}

class PackedWeights : public ::testing::Test {
 protected:
  std::string product(int step, const std::string& name = "m.onnx",
                      Weights weights = Weights::AsGiven) const {
    write_product(folder_.file(name), step, weights);
    return folder_.file(name);
  }

  TemporaryFolder folder_;
  std::string cache_ = folder_.file("new/cache");
};

TEST_F(PackedWeights, OfTheNextSessionAreThoseOfTheFirst) {
  const std::string model = product(7);
  const ir::Tensor without = run(model, "").y;
  EXPECT_TRUE(identical(run(model, cache_).y, without));
  const auto files = files_in(cache_);
  ASSERT_THAT(files, SizeIs(1));
  const auto written = fs::last_write_time(files[0]);
  EXPECT_TRUE(identical(run(model, cache_).y, without));
  EXPECT_EQ(fs::last_write_time(files[0]), written);
  EXPECT_EQ(files_in(cache_), files);
}

// So the file is read, and not packed again.
TEST_F(PackedWeights, AreTheBytesOfTheFile) {
  const std::string model = product(7);
  const std::string other = product(3, "other.onnx");
  run(model, cache_);
  const std::string file = files_in(cache_)[0];
  const std::string cache_of_other = folder_.file("other");
  const ir::Tensor wanted = run(other, cache_of_other).y;
  const std::string other_file = files_in(cache_of_other)[0];
  EXPECT_NE(file.substr(file.rfind('/')), other_file.substr(other_file.rfind('/')));
  // The other's weights under the key of the first: what no writer makes, but a reader can be seen by.
  constexpr std::size_t kBehindTheKey = 32;
  std::string mixed = bytes_of(other_file);
  mixed.replace(0, kBehindTheKey, bytes_of(file).substr(0, kBehindTheKey));
  std::ofstream(file, std::ios::binary) << mixed;
  EXPECT_TRUE(identical(run(model, cache_).y, wanted));
}

TEST_F(PackedWeights, OfAFileThatWasChangedInPlaceAreOthers) {
  const std::string model = product(7);
  const ir::Tensor before = run(model, cache_).y;
  product(3);
  const ir::Tensor after = run(model, cache_).y;
  EXPECT_FALSE(identical(after, before));
  EXPECT_TRUE(identical(after, run(model, "").y));
  EXPECT_THAT(files_in(cache_), SizeIs(2));
}

TEST_F(PackedWeights, OfACopyOfTheFileAreTheSame) {
  run(product(7), cache_);
  run(product(7, "copy.onnx"), cache_);
  EXPECT_THAT(files_in(cache_), SizeIs(1));
}

// A file that was changed a moment ago may be changed again without a change of its times.
TEST_F(PackedWeights, NeedOneLookAtAFileThatHasLongBeenAsItIs) {
  const auto now = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  for (const auto& [age, looks] : {std::pair{std::int64_t{0}, 2}, {std::int64_t{3'600'000'000'000}, 1}}) {
    const ir::FileIdentity file{.bytes = 5, .modified = 1, .changed = now - age};
    const ir::Digest digest{.high = 3, .low = 4};
    int times_read = 0;
    for (int process = 0; process < 2; ++process) {
      const auto store = open_packed_files(cache_);
      for (int i = 0; i < 3; ++i)
        EXPECT_EQ(store->digests().of_file(file, [&] { return ++times_read, digest; }), digest);
    }
    EXPECT_EQ(times_read, looks);
  }
}

TEST_F(PackedWeights, ThatAreDamagedArePackedAgain) {
  const std::string model = product(7);
  const ir::Tensor wanted = run(model, cache_).y;
  const std::string file = files_in(cache_)[0];
  const std::string whole = bytes_of(file);
  const auto with = [&](std::size_t at, char byte) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ byte);
    return bytes;
  };
  for (const std::string& damaged :
       {with(0, 1), with(20, 1), with(40, 1), with(5000, 1), with(whole.size() - 1, 64),
        whole.substr(0, whole.size() - 1), whole.substr(0, 10), whole + "x", std::string()}) {
    std::ofstream(file, std::ios::binary) << damaged;
    EXPECT_TRUE(identical(run(model, cache_).y, wanted));
    EXPECT_EQ(bytes_of(file), whole);
  }
}

TEST_F(PackedWeights, AreWrittenBySeveralAtOnce) {
  const std::string model = product(7);
  const ir::Tensor wanted = run(model, "").y;
  std::vector<ir::Tensor> found(4);
  std::vector<std::thread> threads;
  for (ir::Tensor& one : found) threads.emplace_back([&] { one = run(model, cache_).y; });
  for (std::thread& thread : threads) thread.join();
  for (const ir::Tensor& one : found) EXPECT_TRUE(identical(one, wanted));
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(cache_)) left.push_back(entry.path());
  EXPECT_THAT(left, SizeIs(1)) << "no unfinished file is left";
}

TEST_F(PackedWeights, ThatAKilledProcessHadBegunToWriteGo) {
  put(*open_packed_files(cache_), 1, 'a');
  const std::string file = files_in(cache_)[0];
  pid_t gone = 2;
  while (::kill(gone, 0) == 0 || errno != ESRCH) ++gone;
  const std::string left = fmt::format("{}.part{:08}", file, gone);
  const std::string of_others = fmt::format("{}.part{:08}", file, ::getpid());
  for (const std::string& unfinished : {left, of_others}) std::ofstream(unfinished) << "a part";
  open_packed_files(cache_);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(of_others));
}

TEST_F(PackedWeights, NeedAFolder) {
  const std::string model = product(7);
  EXPECT_EQ(testing::refusal([&] { run(model, model); }),
            "cachePath '" + model + "': a file found, a folder needed");
  EXPECT_EQ(testing::refusal([&] { run(model, model + "/in"); }),
            "cachePath '" + model + "/in': the folder cannot be made: Not a directory");
}

TEST_F(PackedWeights, ThatCannotBeWrittenAreNoted) {
  const std::string model = product(7);
  const ir::Tensor wanted = run(model, cache_).y;
  const std::string file = files_in(cache_)[0];
  fs::remove(file);
  fs::create_directory(file);  // in the way of the file
  const Ran found = run(model, cache_);
  EXPECT_TRUE(identical(found.y, wanted));
  EXPECT_THAT(found.notes,
              ::testing::ElementsAre("packed weights are not all kept: is a directory, a file needed"));
}

TEST_F(PackedWeights, AreMadeWhereTheKeyIsNew) {
  const auto store = open_packed_files(cache_);
  EXPECT_EQ(put(*store, 1, 'a').data<std::uint8_t>()[999], 'a');
  EXPECT_EQ(put(*store, 2, 'b').data<std::uint8_t>()[999], 'b');
  EXPECT_EQ(put(*store, 1, 'c').data<std::uint8_t>()[999], 'a');
  EXPECT_EQ(store->trouble(), "");
}

TEST_F(PackedWeights, ThatNobodyHasUsedForLongestGoWhereThereAreTooMany) {
  const auto store = open_packed_files(cache_);
  for (std::uint64_t key = 1; key <= 3; ++key) put(*store, key, 'a');
  const auto files = files_in(cache_);
  const auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 3; ++i) fs::last_write_time(files[i], now - std::chrono::hours(5 - i));
  put(*store, 1, 'b');  // uses the oldest
  const std::uintmax_t of_two = 2 * fs::file_size(files[0]);
  open_packed_files(cache_, of_two);
  EXPECT_EQ(files_in(cache_), (std::vector<std::string>{files[0], files[2]}));
}

TEST_F(PackedWeights, ThatAreTransposedAreOthers) {
  run(product(7), cache_);
  const std::string model = product(7, "transposed.onnx", Weights::Transposed);
  const ir::Tensor wanted = run(model, "").y;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(identical(run(model, cache_).y, wanted));
    EXPECT_THAT(files_in(cache_), SizeIs(2));
  }
}

}  // namespace
}  // namespace podium
