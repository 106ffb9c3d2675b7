// The commands of `podium`, what they have in common and how they end.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace podium::cli {

struct Options;

using Arguments = std::vector<std::string>;

/// Exit statuses.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;  ///< also where numbers are not those that were expected
inline constexpr int kWrongUsage = 2;
inline constexpr int kDoesNotFit = 3;  ///< the memory of the device, or what --memory-limit allows

enum class Command : std::uint8_t { Run, Train, Profile, Annotate, Compare, Validate, Calibrate, Test, Info };

/// Some of the commands.
class Commands {
 public:
  constexpr Commands(std::initializer_list<Command> commands) {
    for (Command command : commands) bits_ |= bit(command);
  }
  constexpr bool contain(Command command) const { return (bits_ & bit(command)) != 0; }

 private:
  static constexpr unsigned bit(Command command) { return 1U << static_cast<unsigned>(command); }
  unsigned bits_ = 0;
};

/// How many models a command takes; any: it looks at its paths itself.
enum class Models : std::uint8_t { One, Any };

struct CommandRow {
  Command command;
  std::string_view name;
  std::string_view summary;  ///< of `podium --help`
  std::string_view purpose;  ///< of its own --help
  std::string_view example;  ///< a line of its --help that can be typed
  int (*execute)(const Options&);
  Models models = Models::One;
  /// UsageError for options that cannot be what the command is to do.
  void (*check)(const Options&) = nullptr;
  std::string_view paths = "PATH...";  ///< what --help calls them
  std::string_view epilogue = {};      ///< of its --help
};

std::span<const CommandRow> commands();
const CommandRow& row_of(Command command);

/// Reads the options, prints the help that they ask for or executes. The exit status.
int run_command(const CommandRow& command, const Arguments& arguments);

int execute_run(const Options& options);
int execute_train(const Options& options);
int execute_profile(const Options& options);
int execute_annotate(const Options& options);
int execute_compare(const Options& options);
int execute_validate(const Options& options);
int execute_calibrate(const Options& options);
int execute_test(const Options& options);
int execute_info(const Options& options);

}  // namespace podium::cli
