// Commands that are killed while they write: each file is the one from before or the new one, whole, and the
// next run leaves nothing unfinished. PODIUM_KILLS=N asks for N kills at random moments.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <thread>

#include "importer/import.h"
#include "ir/number_text.h"
#include "tests/support/run_program.h"
#include "tests/support/traced_program.h"

namespace podium::cli {
namespace {

namespace fs = std::filesystem;
using testing::Ended;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using Words = std::vector<std::string>;
using Files = std::map<std::string, std::string>;  // name to bytes

std::string all_bytes(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Files files_in(const std::string& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = all_bytes(entry.path());
  }
  return files;
}

std::string length_delimited(int number, const std::string& bytes) {
  std::string result(1, static_cast<char>(number << 3 | 2));
  for (std::size_t rest = bytes.size();; rest >>= 7) {
    result += static_cast<char>((rest & 127) | (rest > 127 ? 128 : 0));
    if (rest <= 127) break;
  }
  return result + bytes;
}

std::string entry_of(int number, const std::string& key, const std::string& value) {
  return length_delimited(number, length_delimited(1, key) + length_delimited(2, value));
}

// float[20,10] = float[20,784] x w[784,10] with w in another file.
std::string model_with_data(const std::string& data) {
  const auto dims = [](const std::vector<int>& sizes) {
    std::string shape;
    for (const int size : sizes) {
      const std::string number =
          size < 128 ? std::string(1, static_cast<char>(size))
                     : std::string{static_cast<char>(size % 128 | 128), static_cast<char>(size / 128)};
      shape += length_delimited(1, "\x08" + number);
    }
    return length_delimited(2, length_delimited(1, std::string("\x08\x01") + length_delimited(2, shape)));
  };
  const std::string node = length_delimited(1, "x") + length_delimited(1, "w") + length_delimited(2, "y") +
                           length_delimited(4, "MatMul");
  const std::string weight = std::string("\x08\x90\x06\x08\x0a\x10\x01") + length_delimited(8, "w") +
                             entry_of(13, "location", data) + "\x70\x01";
  return "\x08\x08" +
         length_delimited(7, length_delimited(1, node) + length_delimited(2, "g") +
                                 length_delimited(5, weight) +
                                 length_delimited(11, length_delimited(1, "x") + dims({20, 784})) +
                                 length_delimited(12, length_delimited(1, "y") + dims({20, 10}))) +
         length_delimited(8, "\x10\x14");
}

std::string small_network() {
  std::ostringstream weights;
  for (int i = 0; i < 7840; ++i) weights << (i > 0 ? "," : "") << (i * 7919 % 97 - 48) * 1e-3;
  return fmt::format(R"(<ir_version: 8, opset_import: ["" : 20]>
g (uint8[N,28,28] image) => (float[N,10] scores) <float scale = {{0.003921569}}, float[784,10] w = {{{}}}>
{{ pixels = Cast <to = 1> (image) scaled = Mul(pixels, scale) flat = Flatten(scaled) scores = MatMul(flat, w) }}
)",
                     weights.str());
}

constexpr const char* kValidation = R"([{"group": "products", "source": "measured", "name": "product",
  "model": "product rows=8 inner=64 columns=2", "command": "run --ipus 1", "options": {"syntheticDataMode": "Zeros"},
  "device": "a100-80", "quantity": "computeSeconds", "unit": 1e-6, "published": 63}])";

// A command that writes into the folder "out", twice, with other results the second time.
struct Scenario {
  std::string name;
  Words before;
  Words after;
  bool is_slow = false;  ///< not killed at each of its calls
};

class KilledCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::can_trace()) GTEST_SKIP() << "calls cannot be followed here";
    folder_.write("network.onnxtxt", small_network());
    std::string weights;
    for (int i = 0; i < 7840; ++i) {
      const float number = static_cast<float>(i % 89) * 1e-3F;
      weights.append(reinterpret_cast<const char*>(&number), sizeof(number));
    }
    folder_.write("external.onnx", model_with_data("w.bin"));
    folder_.write("w.bin", weights);
    for (const char* name : {"rows1.json", "rows2.json"}) folder_.write(name, kValidation);
  }

  std::string out() const { return folder_.file("out"); }

  // `arguments` in words: {network} is a model, {out} the folder.
  Words words(const std::string& arguments) const {
    std::istringstream text(fmt::format(
        fmt::runtime(arguments), fmt::arg("out", out()), fmt::arg("network", folder_.file("network.onnxtxt")),
        fmt::arg("external", folder_.file("external.onnx")), fmt::arg("rows", folder_.file("rows")),
        fmt::arg("data", std::string(PODIUM_SOURCE_DIR) + "/models/data/")));
    return {std::istream_iterator<std::string>(text), {}};
  }

  // The same command with each of two values in place of @.
  Scenario scenario(const std::string& name, const std::string& arguments, const std::string& before,
                    const std::string& after) const {
    const auto with = [&](const std::string& value) {
      std::string text = arguments;
      return words(text.replace(text.find('@'), 1, value));
    };
    return {name, with(before), with(after)};
  }

  // The first three write models.
  std::vector<Scenario> scenarios() const {
    const std::string train =
        "train {network} --quiet --loss cross-entropy --micro-batch 20 --optimizer sgd,lr=@ "
        "--input image={data}digits-images-idx3-ubyte --target label={data}digits-labels-idx1-ubyte ";
    Scenario calibrate = scenario(
        "calibrate", "calibrate --quiet --threads 1 --seconds @ --save {out}/machine.json", "0", "0.001");
    Scenario compare =
        scenario("compare",
                 "compare {network} --quiet --dim N=2 --report {out}/report.json --estimate --ipus @ "
                 "--html {out}/page.html --save {out}/best",
                 "1", "2");
    calibrate.is_slow = compare.is_slow = true;
    const std::string seen = "--quiet --dim N=2 --report {out}/report.json ";
    return {
        scenario("train --save", train + "--save {out}/saved.onnx", "0.1", "0.2"),
        scenario("annotate", "annotate {network} --ipu *=@ -o {out}/placed.onnx", "0", "1"),
        scenario("annotate, external data", "annotate {external} --ipu *=@ -o {out}/placed.onnx", "0", "1"),
        scenario("run",
                 "run {network} " + seen +
                     "--random @ --trace {out}/trace.json --html {out}/page.html --output-dir {out}/results",
                 "1", "2"),
        scenario("train with a report",
                 train + "--report {out}/report.json --trace {out}/trace.json --html {out}/page.html", "0.1",
                 "0.2"),
        scenario("profile", "profile {network} " + seen + "--top @ --html {out}/page.html", "1", "2"),
        scenario("info", "info {network} --quiet --dim N=@ --report {out}/report.json", "1", "2"),
        scenario("validate", "validate {rows}@.json --quiet --report {out}/report.json", "1", "2"),
        compare,
        calibrate};
  }

  // The folder as `words` leave it when nobody kills them.
  Files run_in_peace(const Words& words) {
    EXPECT_EQ(testing::run_to_the_end(words), 0) << fmt::format("{}", fmt::join(words, " "));
    return files_in(out());
  }
  void begin_with(const Files& files) const {
    fs::remove_all(out());
    for (const auto& [name, bytes] : files) folder_.write("out/" + name, bytes);
  }

  // Reports tell how long a run took. Data of a model get a name that is free, so that the model's bytes,
  // which have the name, are not those of the other run; that it can be read with its data says that it is
  // whole.
  static bool is_whole(const std::string& name, const std::string& bytes, const Files& before,
                       const Files& after) {
    if (name.ends_with(".json")) return nlohmann::json::accept(bytes);
    if (name.ends_with(".html")) return bytes.ends_with("</html>\n");
    if (name.ends_with(".onnx") && before.contains(name + ".data")) return true;
    const auto is_in = [&](const Files& files) {
      const auto found = files.find(name);
      return found != files.end() && found->second == bytes;
    };
    return is_in(before) || is_in(after);
  }

  // A name under which no user has a file: what is not finished, and data that only their model tells of.
  static bool is_inner(const std::string& name) {
    return name.find(".part") != std::string::npos || name.find(".data") != std::string::npos;
  }

  void expect_whole(const std::string& where, const Files& before, const Files& after) const {
    const Files found = files_in(out());
    for (const auto& [name, bytes] : found) {
      if (is_inner(name)) continue;
      EXPECT_TRUE(is_whole(name, bytes, before, after)) << where << ": " << name;
      if (!name.ends_with(".onnx")) continue;
      EXPECT_NO_THROW(importer::import_model(out() + "/" + name)) << where << ": " << name;
    }
    for (const auto& [name, bytes] : before)
      EXPECT_TRUE(found.contains(name) || is_inner(name)) << where << ": " << name << " is gone";
  }

  TemporaryFolder folder_;
};

std::vector<std::string> names_of(const Files& files) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files) names.push_back(name);
  return names;
}

TEST_F(KilledCommand, LeavesTheFileFromBeforeOrTheNewOneWhereverItIsKilled) {
  int killed = 0;
  for (const Scenario& scenario : scenarios()) {
    if (scenario.is_slow) continue;
    fs::create_directories(out());
    const Files before = run_in_peace(scenario.before);
    const Files after = run_in_peace(scenario.after);
    ASSERT_FALSE(before.empty()) << scenario.name;
    int call = 1;
    for (;; ++call) {
      begin_with(before);
      if (testing::kill_at_call(scenario.after, call) == Ended::ByItself) break;
      ++killed;
      const std::string where = fmt::format("{}, killed before call {}", scenario.name, call);
      expect_whole(where, before, after);
      run_in_peace(scenario.after);
      expect_whole(where + " and run again", before, after);
      // Between two calls data may have no model that names them yet, or none any more: one file at most.
      const Files left = files_in(out());
      const std::size_t most = after.size() + (after.contains("placed.onnx.data2") ? 1 : 0);
      EXPECT_LE(left.size(), most) << where << ": " << fmt::format("{}", fmt::join(names_of(left), " "));
    }
    EXPECT_GT(call, 4) << scenario.name;
    fs::remove_all(out());
  }
  fmt::print("{} killed\n", killed);
}

TEST_F(KilledCommand, LeavesTheFileFromBeforeOrTheNewOneWheneverItIsKilled) {
  const char* const asked = std::getenv("PODIUM_KILLS");
  const int kills = asked == nullptr ? 40 : ir::number_of<int>(asked).value();
  std::mt19937 random(20);
  int killed = 0;
  const std::vector<Scenario> all = scenarios();
  for (std::size_t s = 0; s < all.size(); ++s) {
    fs::remove_all(out());
    fs::create_directories(out());
    const Files before = run_in_peace(all[s].before);
    const auto start = std::chrono::steady_clock::now();
    const Files after = run_in_peace(all[s].after);
    const auto length =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
    for (int i = 0; i < kills / static_cast<int>(all.size()); ++i) {
      begin_with(before);
      const std::chrono::microseconds moment(random() % static_cast<unsigned>(length.count()));
      if (testing::kill_after(all[s].after, moment) == Ended::Killed) ++killed;
      expect_whole(fmt::format("{}, killed after {} us", all[s].name, moment.count()), before, after);
    }
  }
  fmt::print("{} runs, {} killed\n", kills, killed);
  EXPECT_GT(killed, kills / 10);
}

TEST_F(KilledCommand, GoesOnFromWhatItHasSavedAndSaysWhatItFinds) {
  const Scenario train = scenarios().front();
  fs::create_directories(out());
  const Files saved = run_in_peace(train.before);
  const std::string whole = saved.at("saved.onnx");
  Words resume = train.after;
  resume.insert(resume.end(), {"--resume", out() + "/saved.onnx"});
  for (std::size_t size = 0; size < whole.size(); size += 4096) {
    EXPECT_THROW(importer::import_bytes({whole.data(), size}), Error) << size << " of " << whole.size();
  }
  const testing::ProgramResult found = [&] {
    folder_.write("out/saved.onnx", whole.substr(0, 4096));
    return testing::run_program(fmt::format("podium {}", fmt::join(resume, " ")));
  }();
  EXPECT_EQ(found.status, 1);
  EXPECT_THAT(found.err, HasSubstr("saved.onnx"));
  EXPECT_EQ(found.err.find('\n'), found.err.size() - 1) << found.err;
  EXPECT_EQ(all_bytes(out() + "/saved.onnx"), whole.substr(0, 4096)) << "what cannot be read is not replaced";
  folder_.write("out/saved.onnx", whole);
  EXPECT_EQ(testing::run_program(fmt::format("podium {}", fmt::join(resume, " "))).status, 0);
}

TEST_F(KilledCommand, ReadsNoModelWhoseDataAreCut) {
  const std::string weights = all_bytes(folder_.file("w.bin"));
  EXPECT_NO_THROW(importer::import_model(folder_.file("external.onnx")));
  for (std::size_t size = 0; size < weights.size(); size += 4096) {
    folder_.write("w.bin", weights.substr(0, size));
    EXPECT_THROW(importer::import_model(folder_.file("external.onnx")), Error) << size;
  }
}

TEST_F(KilledCommand, LeavesOneOfTwoModelsThatAreWrittenAtOnce) {
  for (const std::size_t which : {1, 2}) {
    const Scenario annotate = scenarios()[which];
    fs::remove_all(out());
    fs::create_directories(out());
    const Files first = run_in_peace(annotate.before);
    const Files second = run_in_peace(annotate.after);
    const auto write = [](const Words& words) {
      for (int i = 0; i < 20; ++i) EXPECT_EQ(testing::run_to_the_end(words), 0);
    };
    std::thread one(write, annotate.before);
    std::thread other(write, annotate.after);
    one.join();
    other.join();
    expect_whole(annotate.name, first, second);
    EXPECT_TRUE(fs::exists(out() + "/placed.onnx"));
  }
}

}  // namespace
}  // namespace podium::cli
