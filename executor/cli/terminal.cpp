#include "executor/cli/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "ir/error.h"
#include "ir/number_text.h"
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

namespace {

bool has_colours() {
  const char* const refused = std::getenv("NO_COLOR");
  const char* const kind = std::getenv("TERM");
  const bool is_dumb = kind == nullptr || std::string_view(kind) == "dumb";
  return ::isatty(STDOUT_FILENO) != 0 && !is_dumb && (refused == nullptr || *refused == '\0');
}

}  // namespace

void show(std::string_view text, Style style) {
  const bool is_styled = style != Style::Plain && has_colours();
  if (is_styled) std::fputs(style == Style::Marked ? "\033[1;32m" : "\033[2m", stdout);
  show(text);
  if (is_styled) std::fputs("\033[0m", stdout);
}

void flush_shown() { std::fflush(stdout); }

std::size_t terminal_width() {
  if (const char* const columns = std::getenv("COLUMNS");
      columns != nullptr && ::isatty(STDOUT_FILENO) != 0) {
    const auto count = ir::number_of<std::size_t>(columns);
    if (count && *count > 0) return *count;
  }
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
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
