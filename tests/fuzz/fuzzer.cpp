// A parent and one child at a time. The child makes inputs and runs them; each input lies in memory that both
// share before it is run, so that the parent has it when the child dies, writes it down, and forks the next
// child, which goes on behind it. An input whose run takes an edge that no run took before joins the corpus,
// in a file where there is a folder for it, so that the next child has it too.
#include "tests/fuzz/fuzzer.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <sstream>
#include <stdexcept>

#include "ir/error.h"
#include "tests/fuzz/coverage.h"

namespace podium::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr int kMostSecondsAwake = 60;  // an input that waits for something takes no time of the processor
constexpr int kFaultStatus = 76;
// Without a sanitizer, whose own address space is larger than any limit.
constexpr rlim_t kMostMemory = rlim_t{4} << 30U;

struct Shared {
  std::uint64_t runs = 0;
  std::uint64_t kept = 0;
  std::uint64_t seeds_done = 0;
  std::size_t size = 0;
  char input[kMostBytes] = {};
  char fault[2048] = {};
};

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

void set_timers(int processor_seconds, int seconds) {
  const itimerval processor{.it_interval = {}, .it_value = {processor_seconds, 0}};
  setitimer(ITIMER_PROF, &processor, nullptr);
  alarm(static_cast<unsigned>(seconds));
}

void answer(const Target& target, const std::string& input) {
  try {
    target.run(input);
  } catch (const Error&) {
    // The input was refused, in words.
  } catch (const std::bad_alloc&) {
    // So was one that asked for more memory than there is.
  } catch (const std::length_error&) {
  }
}

class Child {
 public:
  Child(const Target& target, Shared& shared, const Places& places, Dice dice)
      : target_(target), shared_(shared), places_(places), dice_(dice), corpus_(target.seeds()) {
    std::vector<fs::path> kept;
    if (!places_.corpus.empty() && fs::exists(places_.corpus)) {
      for (const auto& entry : fs::directory_iterator(places_.corpus)) kept.push_back(entry.path());
    }
    std::sort(kept.begin(), kept.end());
    for (const fs::path& path : kept) corpus_.push_back(bytes_of(path));
    if (corpus_.empty()) corpus_.emplace_back();
  }

  [[noreturn]] void work(const Limits& limits, Clock::time_point start) {
    while (shared_.seeds_done < corpus_.size()) {
      if (is_over(limits, start)) break;
      run(corpus_[shared_.seeds_done++]);
    }
    while (!is_over(limits, start)) {
      const std::string input = target_.mutate(dice_.pick(corpus_), corpus_, dice_);
      const std::uint64_t edges = edges_taken();
      run(input);
      if (edges_taken() > edges) keep(input);
    }
    _exit(0);
  }

 private:
  bool is_over(const Limits& limits, Clock::time_point start) const {
    const std::chrono::duration<double> taken = Clock::now() - start;
    return (limits.seconds > 0 && taken.count() >= limits.seconds) ||
           (limits.runs > 0 && shared_.runs >= limits.runs);
  }

  void run(const std::string& input) {
    if (input.size() > kMostBytes) return;
    std::memcpy(shared_.input, input.data(), input.size());
    shared_.size = input.size();
    ++shared_.runs;
    set_timers(kMostSeconds, kMostSecondsAwake);
    try {
      answer(target_, input);
    } catch (const std::exception& fault) {
      std::strncpy(shared_.fault, fault.what(), sizeof(shared_.fault) - 1);
      _exit(kFaultStatus);
    }
    set_timers(0, 0);
  }

  void keep(const std::string& input) {
    corpus_.push_back(input);
    ++shared_.kept;
    if (!places_.corpus.empty())
      write_bytes(fs::path(places_.corpus) / fmt::format("{:016x}", std::hash<std::string>{}(input)), input);
    // What the next child reads from there has been run.
    shared_.seeds_done = corpus_.size();
  }

  const Target& target_;
  Shared& shared_;
  const Places& places_;
  Dice dice_;
  Corpus corpus_;
};

// A folder of its own, in which a child works.
class Workshop {
 public:
  Workshop() {
    std::string pattern = (fs::temp_directory_path() / "podium-fuzz-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw Error("no folder can be made in {}", fs::temp_directory_path().string());
    path_ = pattern;
  }
  ~Workshop() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  fs::path folder() const { return path_ / "work"; }
  fs::path said() const { return path_ / "said"; }
  /// Empty again.
  void clear() const {
    std::error_code ignored;
    fs::remove_all(folder(), ignored);
    fs::create_directory(folder());
  }

 private:
  fs::path path_;
};

void enter(const Workshop& workshop) {
  const int nothing = open("/dev/null", O_RDWR);
  const int said = open(workshop.said().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  dup2(said, STDERR_FILENO);
#if !defined(__SANITIZE_ADDRESS__)
  const rlimit memory{kMostMemory, kMostMemory};
  setrlimit(RLIMIT_AS, &memory);
#endif
  if (chdir(workshop.folder().c_str()) != 0) _exit(kFaultStatus);
}

// The line of what a sanitizer said that tells one defect from another.
std::string summary_of(const std::string& said) {
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("runtime error:") != std::string::npos || line.find("SUMMARY:") != std::string::npos)
      return line;
  }
  return {};
}

class Parent {
 public:
  Parent(const Target& target, const Places& places, Shared& shared)
      : target_(target), places_(places), shared_(shared) {}

  // Whether there is more to do.
  bool after(int status, const Workshop& workshop) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return false;
    std::string summary = summary_of(bytes_of(workshop.said()));
    std::string kind = "crash";
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM)) {
      kind = "hang";
      summary = kind;
      ++outcome_.hangs;
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == kFaultStatus) {
      kind = "fault";
      summary = shared_.fault;
      ++outcome_.faults;
    } else {
      ++outcome_.crashes;
      if (summary.empty() && WIFSIGNALED(status)) summary = fmt::format("signal {}", WTERMSIG(status));
    }
    write_down(kind, summary, bytes_of(workshop.said()));
    return true;
  }

  Outcome outcome() const {
    Outcome result = outcome_;
    result.runs = shared_.runs;
    result.kept = shared_.kept;
    result.edges = edges_taken();
    return result;
  }

 private:
  // One input of a defect is enough; of hangs, which all look alike, a few.
  void write_down(const std::string& kind, const std::string& summary, const std::string& said) {
    const int seen = seen_[summary]++;
    if (seen > (kind == "hang" ? 10 : 0)) return;
    const std::string name = fmt::format("{}-{}-{}", target_.name, kind, written_++);
    const fs::path folder(places_.failures);
    write_bytes(folder / name, std::string(shared_.input, shared_.size));
    write_bytes(folder / (name + ".txt"), summary + "\n" + said);
    fmt::print("{}: {}\n", (folder / name).string(), summary);
    std::fflush(stdout);
  }

  const Target& target_;
  const Places& places_;
  Shared& shared_;
  Outcome outcome_;
  std::map<std::string, int> seen_;
  int written_ = 0;
};

}  // namespace

Outcome fuzz(const Target& target, std::uint64_t seed, const Limits& limits, const Places& places) {
  const auto start = Clock::now();
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto& shared = *new (memory) Shared;
  share_edges();
  Parent parent(target, places, shared);
  const Workshop workshop;
  for (std::uint64_t child = 0;; ++child) {
    workshop.clear();
    const pid_t id = fork();
    if (id < 0) throw Error("no process can be started");
    if (id == 0) {
      enter(workshop);
      Child(target, shared, places, Dice(seed + child)).work(limits, start);
    }
    int status = 0;
    waitpid(id, &status, 0);
    if (!parent.after(status, workshop)) break;
  }
  const Outcome outcome = parent.outcome();
  munmap(memory, sizeof(Shared));
  return outcome;
}

void replay(const Target& target, const std::string& input) { answer(target, input); }

}  // namespace podium::fuzz
