// What most flags do: set one member of the Options.
#pragma once

#include "executor/cli/flag_row.h"
#include "executor/cli/options.h"

namespace podium::cli {

template <class T>
T& part_of(Options& options) {
  if constexpr (std::is_same_v<T, TrainOptions>) {
    return options.train;
  } else if constexpr (std::is_same_v<T, AnnotateOptions>) {
    return options.annotate;
  } else if constexpr (std::is_same_v<T, CompareOptions>) {
    return options.compare;
  } else if constexpr (std::is_same_v<T, CalibrateOptions>) {
    return options.calibrate;
  } else if constexpr (std::is_same_v<T, ProfileOptions>) {
    return options.profile;
  } else {
    return options;
  }
}

/// Member = true.
template <class T>
auto set(bool T::*member) {
  return [member](Options& options, const Given& /*given*/) { part_of<T>(options).*member = true; };
}

/// Member = the text.
template <class T, class Text>
auto set_text(Text T::*member) {
  return [member](Options& options, const Given& given) {
    // A shell's variable that is not set must not cost hours of work.
    if (given.text().empty())
      throw UsageError("--{}: '' found, a text or the name of a file needed", given.flag);
    part_of<T>(options).*member = given.text();
  };
}

/// Member = all texts.
template <class T>
auto set_texts(std::vector<std::string> T::*member) {
  return [member](Options& options, const Given& given) { part_of<T>(options).*member = given.values; };
}

/// Member = the number, from `least` to `most`.
template <class Number, class T, class Member>
auto set_number(Member T::*member, Number least, Number most = std::numeric_limits<Number>::max()) {
  return [member, least, most](Options& options, const Given& given) {
    part_of<T>(options).*member = given.number<Number>(least, most);
  };
}

/// Member = the pairs.
template <class T>
auto set_pairs(NamedFiles T::*member) {
  return [member](Options& options, const Given& given) {
    const auto pairs = given.pairs();
    part_of<T>(options).*member = NamedFiles(pairs.begin(), pairs.end());
  };
}

}  // namespace podium::cli
