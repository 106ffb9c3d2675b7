// Upper and lower case of UTF-8 text.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace podium::kernels {

enum class Case : unsigned char { Lower, Upper };

/// The rules of a locale such as "en_US"; language-neutral rules when the system does not have the locale.
class CaseRules {
 public:
  explicit CaseRules(const std::string& locale);
  /// Letter by letter; bytes that are not UTF-8 stay.
  std::string changed(std::string_view text, Case to) const;

 private:
  std::shared_ptr<void> locale_;
};

}  // namespace podium::kernels
