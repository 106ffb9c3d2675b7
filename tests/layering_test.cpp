// The arrows between rooms and the fences around libraries, read from the sources themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace podium {
namespace {

namespace fs = std::filesystem;

struct Source {
  std::string path;  // from the root of the repository
  std::vector<std::string> includes;
};

bool is_source(const fs::path& path) { return path.extension() == ".h" || path.extension() == ".cpp"; }

Source read_source(const fs::path& root, const fs::path& path) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  Source source{fs::relative(path, root).generic_string(), {}};
  std::ifstream file(path);
  std::string line;
  std::smatch match;
  while (std::getline(file, line)) {
    if (std::regex_search(line, match, kInclude)) source.includes.push_back(match[1]);
  }
  return source;
}

const std::vector<Source>& sources() {
  static const std::vector<Source> kSources = [] {
    const fs::path root = PODIUM_SOURCE_DIR;
    std::vector<Source> found;
    for (const char* room : {"annotate", "executor", "importer", "ir", "models", "tests"}) {
      if (!fs::exists(root / room)) continue;
      for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
        if (entry.is_regular_file() && is_source(entry.path()))
          found.push_back(read_source(root, entry.path()));
      }
    }
    std::sort(found.begin(), found.end(), [](const Source& a, const Source& b) { return a.path < b.path; });
    return found;
  }();
  return kSources;
}

std::string folder_of(const std::string& path) { return fs::path(path).parent_path().generic_string(); }

bool is_in(std::string_view path, const std::vector<std::string_view>& folders) {
  return std::any_of(folders.begin(), folders.end(),
                     [&](std::string_view folder) { return path.starts_with(folder); });
}

// Lines of "who includes what" for files in `from` that include something under `to`, except from `exempt`.
std::vector<std::string> arrows(const std::vector<std::string_view>& from,
                                const std::vector<std::string_view>& to,
                                const std::vector<std::string_view>& exempt = {}) {
  std::vector<std::string> found;
  for (const Source& source : sources()) {
    if (!is_in(source.path, from) || is_in(source.path, exempt)) continue;
    for (const std::string& include : source.includes) {
      if (is_in(include, to)) found.push_back(source.path + " includes " + include);
    }
  }
  return found;
}

using Lines = std::vector<std::string>;
const std::vector<std::string_view> kAllRooms{"annotate/", "executor/", "importer/",
                                              "ir/",       "models/",   "tests/"};

TEST(Layering, ReadsTheSources) { EXPECT_GT(sources().size(), 100U) << PODIUM_SOURCE_DIR; }

TEST(Layering, TheIrKnowsNoOtherRoom) {
  EXPECT_EQ(arrows({"ir/"}, {"annotate/", "executor/", "importer/", "models/", "tests/"}), Lines{});
}

TEST(Layering, TheIrRisesFromItsOpsOverTheirGradientsToOptimizers) {
  Lines found;
  const std::vector<std::string> rising{"ir", "ir/ops", "ir/gradients", "ir/passes", "ir/optimizers"};
  const auto floor_of = [&](const std::string& path) {
    return std::find(rising.begin(), rising.end(), folder_of(path)) - rising.begin();
  };
  for (const Source& source : sources()) {
    if (floor_of(source.path) == std::ssize(rising)) continue;
    for (const std::string& include : source.includes) {
      if (floor_of(include) < std::ssize(rising) && floor_of(include) > floor_of(source.path))
        found.push_back(source.path + " includes " + include);
    }
  }
  EXPECT_EQ(found, Lines{});
}

TEST(Layering, TheImporterAndAnnotateKnowTheIrAlone) {
  EXPECT_EQ(arrows({"importer/"}, {"annotate/", "executor/", "models/", "tests/"}), Lines{});
  EXPECT_EQ(arrows({"annotate/"}, {"executor/", "importer/", "models/", "tests/"}), Lines{});
}

TEST(Layering, OnlyTheCommandLineAndTheSessionTieRoomsTogether) {
  EXPECT_EQ(arrows({"executor/"}, {"annotate/", "importer/", "models/"},
                   {"executor/cli/", "executor/compare/", "executor/python/", "executor/session/"}),
            Lines{});
  EXPECT_EQ(arrows({"annotate/", "executor/", "importer/", "ir/", "models/"}, {"tests/"}), Lines{});
}

TEST(Layering, ComparingStandsBetweenTheSessionAndTheCommandLine) {
  EXPECT_EQ(arrows(kAllRooms, {"executor/compare/"},
                   {"executor/cli/", "executor/compare/", "executor/python/", "tests/executor/compare/",
                    "tests/fuzz/", "tests/strategies/"}),
            Lines{});
  EXPECT_EQ(arrows({"executor/"}, {"executor/cli/"}, {"executor/cli/", "executor/python/"}), Lines{});
  EXPECT_EQ(arrows({"executor/report/"}, {"executor/session/", "executor/numeric/", "executor/lower/"}),
            Lines{});
}

TEST(Layering, KernelsKnowTheIrAlone) {
  EXPECT_EQ(arrows({"executor/kernels/"},
                   {"executor/cli/", "executor/device/", "executor/lower/", "executor/numeric/",
                    "executor/program.h", "executor/report/", "executor/session/", "executor/sim/"}),
            Lines{});
}

TEST(Layering, TheSimulatorAndTheNumericEngineShareTheProgramOnly) {
  EXPECT_EQ(arrows({"executor/sim/"}, {"executor/numeric/", "executor/kernels/", "executor/session/"}),
            Lines{});
  EXPECT_EQ(arrows({"executor/numeric/"}, {"executor/sim/", "executor/session/"}), Lines{});
  EXPECT_EQ(arrows({"executor/lower/"}, {"executor/numeric/", "executor/sim/", "executor/session/"}),
            Lines{});
}

TEST(Layering, SchedulesKnowNoGraph) {
  EXPECT_EQ(arrows({"executor/schedule/"},
                   {"executor/lower/", "executor/numeric/", "executor/program.h", "executor/session/",
                    "executor/sim/", "executor/strategy.h", "ir/graph.h", "ir/placement.h"}),
            Lines{});
}

TEST(Layering, TextBecomesNumbersInOnePlace) {
  static const std::regex kOther(
      R"(\b(from_chars|sto(i|l|ll|ul|ull|f|d|ld)|strto[a-z]+|ato[ifl]+|sscanf)\()");
  Lines found;
  for (const Source& source : sources()) {
    if (source.path.starts_with("tests/") || source.path.starts_with("ir/number_text.")) continue;
    std::ifstream file(fs::path(PODIUM_SOURCE_DIR) / source.path);
    for (std::string line; std::getline(file, line);) {
      if (std::regex_search(line, kOther)) found.push_back(source.path + ": " + line);
    }
  }
  EXPECT_EQ(found, Lines{});
}

TEST(Layering, OnnxAndProtobufStayInTheImporter) {
  EXPECT_EQ(arrows(kAllRooms, {"onnx/", "google/protobuf/"}, {"importer/", "tests/importer/", "tests/fuzz/"}),
            Lines{});
}

TEST(Layering, EigenAndOneDnnStayWithTheKernels) {
  EXPECT_EQ(arrows(kAllRooms, {"Eigen/", "dnnl", "oneapi/", "unsupported/Eigen/"}, {"executor/kernels/"}),
            Lines{});
}

TEST(Layering, TheParserOfCommandLinesStaysInTheCommandLine) {
  EXPECT_EQ(arrows(kAllRooms, {"cxxopts"}, {"executor/cli/"}), Lines{});
}

TEST(Layering, PythonStaysAboveTheCommandLine) {
  EXPECT_EQ(arrows(kAllRooms, {"executor/python/", "pybind11/"}, {"executor/python/"}), Lines{});
}

// Depth first; a header met again on the way to itself closes a cycle.
class CycleFinder {
 public:
  CycleFinder() {
    for (const Source& source : sources()) includes_[source.path] = &source.includes;
  }

  std::vector<std::string> find() {
    for (const auto& [path, includes] : includes_) visit(path);
    return cycles_;
  }

 private:
  void visit(const std::string& path) {
    if (done_.contains(path) || !includes_.contains(path)) return;
    if (const auto seen = std::find(way_.begin(), way_.end(), path); seen != way_.end()) {
      std::string cycle;
      for (auto step = seen; step != way_.end(); ++step) cycle += *step + " -> ";
      cycles_.push_back(cycle + path);
      return;
    }
    way_.push_back(path);
    for (const std::string& include : *includes_.at(path)) visit(include);
    way_.pop_back();
    done_.insert(path);
  }

  std::map<std::string, const std::vector<std::string>*> includes_;
  std::vector<std::string> way_;
  std::set<std::string> done_;
  std::vector<std::string> cycles_;
};

TEST(Layering, NoHeaderIncludesItselfOnADetour) { EXPECT_EQ(CycleFinder().find(), Lines{}); }

// Per folder the folders that files in it include.
std::map<std::string, std::set<std::string>> folders_included() {
  std::map<std::string, std::set<std::string>> folders;
  for (const Source& source : sources()) folders[folder_of(source.path)];
  for (const Source& source : sources()) {
    for (const std::string& include : source.includes) {
      const std::string from = folder_of(source.path);
      if (folder_of(include) != from && folders.contains(folder_of(include)))
        folders[from].insert(folder_of(include));
    }
  }
  return folders;
}

TEST(Layering, NoFolderIncludesItselfOnADetour) {
  const auto folders = folders_included();
  Lines found;
  for (const auto& [start, included] : folders) {
    std::set<std::string> reached;
    std::vector<std::string> open(included.begin(), included.end());
    while (!open.empty()) {
      const std::string folder = open.back();
      open.pop_back();
      if (!reached.insert(folder).second) continue;
      open.insert(open.end(), folders.at(folder).begin(), folders.at(folder).end());
    }
    if (reached.contains(start)) found.push_back(start);
  }
  EXPECT_EQ(found, Lines{});
}

// What every strategy is given, which has nothing to test.
constexpr std::string_view kTestedFromOutside = "executor/lower/draft/lowering.h";

// What rewrites a graph or a Program, and what clocks one, is looked for under its name:
// tests/a/b/c_test.cpp includes a/b/c.h.
TEST(Layering, HeadersAreTestedUnderTheirNames) {
  std::map<std::string, const Source*> by_path;
  for (const Source& source : sources()) by_path[source.path] = &source;
  Lines untested;
  for (const auto& [path, source] : by_path) {
    const bool is_asked = is_in(path, {"executor/lower/", "executor/sim/", "ir/passes/"});
    if (!is_asked || !path.ends_with(".h") || path == kTestedFromOutside) continue;
    const auto test = by_path.find("tests/" + path.substr(0, path.size() - 2) + "_test.cpp");
    const bool is_tested = test != by_path.end() &&
                           std::count(test->second->includes.begin(), test->second->includes.end(), path) > 0;
    if (!is_tested) untested.push_back(path);
  }
  EXPECT_EQ(untested, Lines{});
}

// The README names tests, such as `Layering.NoHeaderIncludesItselfOnADetour`.
TEST(Readme, NamesTestsThatExist) {
  const fs::path root = PODIUM_SOURCE_DIR;
  const auto text_of = [&](const fs::path& path) {
    std::ifstream file(root / path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::set<std::string> known;
  static const std::regex kTest(R"(\nTEST\((\w+),\s*(\w+)\))");
  const auto each = [](const std::string& text, const std::regex& pattern, const auto& use) {
    std::for_each(std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator(),
                  [&](const std::smatch& match) { use(match.str(1) + "." + match.str(2)); });
  };
  for (const Source& source : sources()) {
    if (source.path.ends_with("_test.cpp"))
      each(text_of(source.path), kTest, [&](const std::string& name) { known.insert(name); });
  }
  Lines missing;
  std::size_t named = 0;
  static const std::regex kNamed("`([A-Z]\\w+)\\.([A-Z]\\w+)`");
  each(text_of("tests/README.md"), kNamed, [&](const std::string& name) {
    ++named;
    if (!known.contains(name)) missing.push_back(name);
  });
  EXPECT_EQ(missing, Lines{});
  EXPECT_GT(named, 50U);
}

TEST(Layering, IncludesGoFromTheRoot) {
  Lines found;
  const fs::path root = PODIUM_SOURCE_DIR;
  for (const Source& source : sources()) {
    for (const std::string& include : source.includes) {
      const bool is_relative =
          include.starts_with("..") || fs::exists(root / fs::path(source.path).parent_path() / include);
      if (is_relative) found.push_back(source.path + " includes " + include);
    }
  }
  EXPECT_EQ(found, Lines{});
}

}  // namespace
}  // namespace podium
