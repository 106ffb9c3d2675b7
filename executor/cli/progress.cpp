#include "executor/cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace podium::cli {
namespace {

constexpr std::size_t kBarWidth = 30;
constexpr auto kBarEvery = std::chrono::milliseconds(100);
constexpr auto kLineEvery = std::chrono::seconds(10);

}  // namespace

Progress::Progress(std::string what, std::size_t total, bool quiet)
    : what_(std::move(what)), total_(total), quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::advance(std::size_t steps, std::string state) {
  done_ += steps;
  if (!state.empty()) state_ = "  " + std::move(state);
  const auto now = Clock::now();
  if (quiet_ || now - last_ < (terminal_ ? std::chrono::nanoseconds(kBarEvery)
                                         : std::chrono::nanoseconds(kLineEvery))) {
    return;
  }
  last_ = now;
  show();
}

void Progress::show() {
  if (!terminal_) {
    fmt::print(stderr, "{} of {} {}{}\n", done_, total_, what_, state_);
    return;
  }
  const std::size_t filled = total_ == 0 ? kBarWidth : done_ * kBarWidth / total_;
  fmt::print(stderr, "\r[{}{}] {}/{} {}{}\033[K", std::string(filled, '#'),
             std::string(kBarWidth - filled, ' '), done_, total_, what_, state_);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::print(const std::string& line) {
  finish();
  fmt::print("{}\n", line);
}

void Progress::finish() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace podium::cli
