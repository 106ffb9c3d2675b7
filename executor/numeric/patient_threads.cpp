// OpenMP's library (libgomp) spins for as long as its threads are no more than the machine's processors, and
// hardly where they are more; no call chooses. So what chooses is a crowd: sleeping threads that only count.
#include "executor/numeric/patient_threads.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <semaphore>
#include <system_error>
#include <thread>

namespace podium::numeric {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Nothing of both where the kernel does not say.
ProcessorTime time_of_this_thread() {
  std::FILE* file = std::fopen("/proc/thread-self/schedstat", "re");
  if (file == nullptr) return {};
  long long running = 0;
  long long ready = 0;
  const int found = std::fscanf(file, "%lld %lld", &running, &ready);
  std::fclose(file);
  if (found != 2) return {};
  return {.running = nanoseconds(running), .ready = nanoseconds(ready)};
}

class Crowd {
 public:
  /// Of so many that they are more than the processors together with these.
  explicit Crowd(int beside)
      : owner_([this, beside] {
#pragma omp parallel num_threads(std::max(2, omp_get_num_procs() + 2 - beside))
          ++threads_;  // a team with nothing to do is not started
          is_over_.acquire();
        }) {
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() {
    is_over_.release();
    owner_.join();  // a team's threads end with the thread that began it
  }

 private:
  std::atomic<int> threads_ = 0;
  std::binary_semaphore is_over_{0};
  std::thread owner_;
};

void set_patient(bool is_patient) try {
  static std::mutex mutex;
  // Never destroyed: at the program's end its threads may be gone.
  static std::optional<Crowd>& crowd = *new std::optional<Crowd>;
  const std::lock_guard lock(mutex);
  if (is_patient && !crowd) crowd.emplace(omp_get_max_threads());
  if (!is_patient) crowd.reset();
} catch (const std::system_error&) {
  // No thread is to be had: those that are there wait as they do.
}

bool user_has_chosen() {
  static const bool chosen =
      std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr;
  return chosen;
}

}  // namespace

std::optional<bool> OthersWatch::judge(const ProcessorTime& now) {
  if (now.running == nanoseconds(0)) return true;
  if (!last_) {
    last_ = now;
    return std::nullopt;
  }
  const nanoseconds ready = now.ready - last_->ready;
  const nanoseconds all = ready + now.running - last_->running;
  if (all < milliseconds(5)) return std::nullopt;
  last_ = now;
  return 10 * ready >= all;
}

void watch_for_others() {
  using Clock = std::chrono::steady_clock;
  thread_local OthersWatch watch;
  thread_local Clock::time_point next{};
  const Clock::time_point now = Clock::now();
  if (now < next || user_has_chosen()) return;
  next = now + milliseconds(20);
  const std::optional<bool> others = watch.judge(time_of_this_thread());
  if (!others) return;
  set_patient(*others);
  if (*others) next = now + milliseconds(100);
}

}  // namespace podium::numeric
