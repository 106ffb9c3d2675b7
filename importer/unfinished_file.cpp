#include "importer/unfinished_file.h"

#include <unistd.h>

#include <array>
#include <csignal>

namespace podium::importer {
namespace {

using Name = std::atomic<const char*>;
static_assert(Name::is_always_lock_free);  // or a handler of signals must not touch it

// More than any command writes at once.
std::array<Name, 16> names{};

// Calls only functions that are safe in a signal handler. The signal ends the program as soon as it returns.
void remove_all(int signal) {
  for (Name& name : names) {
    if (const char* path = name.exchange(nullptr)) ::unlink(path);
  }
  ::raise(signal);
}

bool is_ignored(int signal) {
  struct sigaction before = {};
  return ::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
}

}  // namespace

void remove_unfinished_files_at_signals() {
  struct sigaction action = {};
  action.sa_handler = remove_all;
  action.sa_flags = SA_RESETHAND;
  sigfillset(&action.sa_mask);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU}) {
    if (!is_ignored(signal)) ::sigaction(signal, &action, nullptr);
  }
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
