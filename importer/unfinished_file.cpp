#include "importer/unfinished_file.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <string_view>

namespace podium::importer {
namespace {

using Name = std::atomic<const char*>;
static_assert(Name::is_always_lock_free);  // or a handler of signals must not touch it

// More than any command writes at once.
std::array<Name, 16> names{};

// What handlers of signals call is safe there.
void remove_all() {
  for (Name& name : names) {
    if (const char* path = name.exchange(nullptr)) ::unlink(path);
  }
}

// The signal ends the program as soon as this returns.
void end_by(int signal) {
  remove_all();
  ::raise(signal);
}

// A file that is mapped may be cut while it is read: then there is no page for an address that has one.
void end_for_lack_of_data(int signal, siginfo_t* found, void* /*context*/) {
  if (found->si_code != BUS_ADRERR) return end_by(signal);
  constexpr std::string_view kLine = "error: a data file became shorter, or unreadable, while it was read\n";
  remove_all();
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kLine.data(), kLine.size());
  ::_exit(1);
}

bool is_ignored(int signal) {
  struct sigaction before = {};
  return ::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
}

}  // namespace

void remove_unfinished_files_at_signals() {
  struct sigaction action = {};
  action.sa_handler = end_by;
  action.sa_flags = SA_RESETHAND;
  sigfillset(&action.sa_mask);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU}) {
    if (!is_ignored(signal)) ::sigaction(signal, &action, nullptr);
  }
  struct sigaction ending = action;
  ending.sa_sigaction = end_for_lack_of_data;
  ending.sa_flags = SA_RESETHAND | SA_SIGINFO;
  ::sigaction(SIGBUS, &ending, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);
}

UnfinishedFile::UnfinishedFile(std::string path) : path_(std::move(path)) {
  for (Name& name : names) {
    const char* nobody = nullptr;
    if (!name.compare_exchange_strong(nobody, path_.c_str())) continue;
    place_ = &name;
    return;
  }
}

// Where the name is gone, a handler on another thread reads it: the program ends at once, and until then the
// name has to stay.
UnfinishedFile::~UnfinishedFile() {
  if (place_ == nullptr || place_->exchange(nullptr) != nullptr) return;
  for (;;) ::pause();
}

}  // namespace podium::importer
