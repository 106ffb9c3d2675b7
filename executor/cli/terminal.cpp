#include "executor/cli/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "ir/error.h"
#include "ir/printable.h"

namespace podium::cli {
namespace {

Error cannot_show(int error) {
  return Error("standard output: cannot be written: {}", std::generic_category().message(error));
}

}  // namespace

void show(std::string_view text) {
  const std::string shown = ir::printable(text, ir::Lines::Kept);
  errno = 0;
  if (std::fwrite(shown.data(), 1, shown.size(), stdout) != shown.size()) throw cannot_show(errno);
}

// What was shown lies in a buffer until here: a full disk shows only now.
void finish_showing() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw cannot_show(errno);
}

void tell(std::string_view line) {
  const std::string shown = ir::one_line(line) + "\n";
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

void keep_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // Opened for reading, so that a write to it fails as one to a closed stream does.
    const int opened = ::open("/dev/null", O_RDONLY);
    if (opened >= 0 && opened != stream) {
      ::dup2(opened, stream);
      ::close(opened);
    }
  }
}

}  // namespace podium::cli
