// The two ways to fail: Error for what a user can cause, IR_CHECK for what only we can cause.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace podium {

/// Something the user gave cannot be used. The text is lower case without a full stop and says
/// what was found and what was needed; each layer that knows where puts that in front.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text) : std::runtime_error(text) {}

  template <class... Args>
  requires(sizeof...(Args) > 0) explicit Error(fmt::format_string<Args...> text, Args&&... args)
      : std::runtime_error(fmt::format(text, std::forward<Args>(args)...)) {}

  /// The same error with `where` in front: "WHERE: TEXT".
  Error at(const std::string& where) const;
  /// Whether `where` is the place in front.
  bool is_at(std::string_view where) const { return !places_.empty() && places_.back() == where; }
  /// The places that at() has put in front, the foremost last.
  const std::vector<std::string>& places() const { return places_; }

 private:
  std::vector<std::string> places_ = {};
};

/// A promise inside Podium was broken. Reported as a fault of Podium, never as the user's.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* file, int line, const char* condition, const std::string& text);

}  // namespace podium

/// IR_CHECK(condition) or IR_CHECK(condition, "format", values...).
#define IR_CHECK(condition, ...)                                                                         \
  do {                                                                                                   \
    if (!(condition)) ::podium::fail_check(__FILE__, __LINE__, #condition, fmt::format("" __VA_ARGS__)); \
  } while (false)
