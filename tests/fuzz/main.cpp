// The fuzzers: see --help.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ir/error.h"
#include "tests/fuzz/fuzzer.h"

namespace podium::fuzz {
namespace {

constexpr const char* kHelp =
    "FUZZER [--seconds S] [--runs N] [--seed N] [--corpus FOLDER] [--failures FOLDER] [TARGET...]\n"
    "FUZZER --replay TARGET FILE\n"
    "FUZZER --list\n\n"
    "Runs the seeds of targets (all by default) and mutants of them, for S seconds or N inputs each. What reaches\n"
    "new code is kept in the corpus, what fails is written to the folder of failures (default: fuzz-failures).\n";

struct Request {
  std::vector<const Target*> targets = {};
  std::uint64_t seed = 1;
  Limits limits = {};
  Places places = {.corpus = "", .failures = "fuzz-failures"};
  std::string replayed = {};
  bool list = false;
  bool help = false;
};

const std::vector<Target>& targets() {
  static const std::vector<Target> kAll = all_targets();
  return kAll;
}

const Target& target_named(const std::string& name) {
  const auto found = std::find_if(targets().begin(), targets().end(),
                                  [&](const Target& target) { return target.name == name; });
  if (found == targets().end()) throw Error("target '{}' found, one that --list names needed", name);
  return *found;
}

Request read(const std::vector<std::string>& words) {
  Request request;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto value = [&] {
      if (i + 1 == words.size()) throw Error("{}: nothing found behind it, a value needed", word);
      return words[++i];
    };
    if (word == "--seconds") {
      request.limits.seconds = std::stod(value());
    } else if (word == "--runs") {
      request.limits.runs = std::stoull(value());
    } else if (word == "--seed") {
      request.seed = std::stoull(value());
    } else if (word == "--corpus") {
      request.places.corpus = value();
    } else if (word == "--failures") {
      request.places.failures = value();
    } else if (word == "--replay") {
      request.targets = {&target_named(value())};
      request.replayed = value();
    } else if (word == "--list") {
      request.list = true;
    } else if (word == "--help") {
      request.help = true;
    } else {
      request.targets.push_back(&target_named(word));
    }
  }
  if (request.targets.empty()) {
    for (const Target& target : targets()) request.targets.push_back(&target);
  }
  return request;
}

int fuzz_all(const Request& request) {
  int failures = 0;
  std::uint64_t runs = 0;
  for (const Target* target : request.targets) {
    // A child works in a folder of its own.
    Places places{.corpus = "", .failures = std::filesystem::absolute(request.places.failures).string()};
    if (!request.places.corpus.empty())
      places.corpus = (std::filesystem::absolute(request.places.corpus) / target->name).string();
    const Outcome outcome = fuzz(*target, request.seed, request.limits, places);
    fmt::print("{:<14}{:>9} runs, {:>6} edges, {:>5} kept, {} crashes, {} hangs, {} faults\n", target->name,
               outcome.runs, outcome.edges, outcome.kept, outcome.crashes, outcome.hangs, outcome.faults);
    std::fflush(stdout);
    failures += outcome.failures();
    runs += outcome.runs;
  }
  fmt::print("{} runs, {} failures\n", runs, failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int run(const Request& request) {
  if (request.help) {
    fmt::print("{}", kHelp);
  } else if (request.list) {
    for (const Target& target : targets()) fmt::print("{}\n", target.name);
  } else if (!request.replayed.empty()) {
    std::ifstream file(request.replayed, std::ios::binary);
    if (!file) throw Error("{}: cannot be read", request.replayed);
    replay(*request.targets[0], {std::istreambuf_iterator<char>(file), {}});
  } else {
    return fuzz_all(request);
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace podium::fuzz

int main(int count, char** values) {
  try {
    return podium::fuzz::run(podium::fuzz::read({values + 1, values + count}));
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
