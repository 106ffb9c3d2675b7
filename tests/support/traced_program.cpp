#include "tests/support/traced_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "ir/error.h"

namespace podium::testing {
namespace {

enum class Follow : std::uint8_t { No, Calls };

[[noreturn]] void become(const std::vector<std::string>& words, Follow follow) {
  const std::string program = (std::filesystem::path(PODIUM_BINARY_DIR) / "podium").string();
  std::vector<char*> arguments{const_cast<char*>(program.c_str())};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int nowhere = ::open("/dev/null", O_RDWR);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // which nobody can who is traced
  if (follow == Follow::Calls && ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(125);
  ::execv(program.c_str(), arguments.data());
  ::_exit(127);
}

pid_t start(const std::vector<std::string>& words, Follow follow) {
  const pid_t process = ::fork();
  IR_CHECK(process >= 0);
  if (process == 0) become(words, follow);
  return process;
}

bool changes_files(const __ptrace_syscall_info& info) {
  const auto& call = info.entry;
  switch (call.nr) {
    case SYS_openat:
      return (call.args[2] & O_CREAT) != 0;
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
      return call.args[0] > STDERR_FILENO;
    case SYS_ftruncate:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_fchmod:
    case SYS_fchown:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_unlinkat:
    case SYS_copy_file_range:
    case SYS_sendfile:
#ifdef SYS_rename
    case SYS_rename:
    case SYS_unlink:
    case SYS_mkdir:
#endif
      return true;
    default:
      return false;
  }
}

Ended end(pid_t process) {
  ::kill(process, SIGKILL);
  int status = 0;
  // Its threads are followed, too, and the process has not ended before each of them has been waited for.
  for (pid_t ended = 0; ended >= 0 && (ended != process || WIFSTOPPED(status));)
    ended = ::waitpid(-1, &status, __WALL);
  return Ended::Killed;
}

// The signal that a stopped thread is to get: the stops that following makes are none.
int signal_of(int status) {
  const int signal = WSTOPSIG(status);
  const bool is_made = signal == (SIGTRAP | 0x80) || signal == SIGTRAP || signal == SIGSTOP;
  return is_made ? 0 : signal;
}

}  // namespace

Ended kill_at_call(const std::vector<std::string>& words, int call) {
  const pid_t process = start(words, Follow::Calls);
  int status = 0;
  IR_CHECK(::waitpid(process, &status, 0) == process && WIFSTOPPED(status), "the program cannot be followed");
  constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
  IR_CHECK(::ptrace(PTRACE_SETOPTIONS, process, nullptr, kOptions) == 0);
  int calls = 0;
  pid_t stopped = process;
  for (;;) {
    __ptrace_syscall_info info{};
    const bool is_call = WIFSTOPPED(status) && WSTOPSIG(status) == (SIGTRAP | 0x80) &&
                         ::ptrace(PTRACE_GET_SYSCALL_INFO, stopped, sizeof(info), &info) > 0;
    if (is_call && info.op == PTRACE_SYSCALL_INFO_ENTRY && changes_files(info) && ++calls == call)
      return end(process);
    if (WIFSTOPPED(status)) ::ptrace(PTRACE_SYSCALL, stopped, nullptr, static_cast<long>(signal_of(status)));
    stopped = ::waitpid(-1, &status, __WALL);
    if (stopped < 0 || (stopped == process && !WIFSTOPPED(status))) return Ended::ByItself;
  }
}

Ended kill_after(const std::vector<std::string>& words, std::chrono::microseconds time) {
  const pid_t process = start(words, Follow::No);
  std::this_thread::sleep_for(time);
  int status = 0;
  if (::waitpid(process, &status, WNOHANG) == process) return Ended::ByItself;
  return end(process);
}

int run_to_the_end(const std::vector<std::string>& words) {
  const pid_t process = start(words, Follow::No);
  int status = 0;
  IR_CHECK(::waitpid(process, &status, 0) == process);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool can_trace() {
  const pid_t process = ::fork();
  if (process == 0) ::_exit(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1);
  int status = 0;
  return ::waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace podium::testing
