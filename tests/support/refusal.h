// What a function that must refuse its input says.
#pragma once

#include <string>

#include "ir/error.h"

namespace podium::testing {

/// The text of the Error (or another `Fault`) that `run` throws; "" when it throws none.
template <class Fault = Error, class Run>
std::string refusal(const Run& run) {
  try {
    run();
  } catch (const Fault& fault) {
    return fault.what();
  }
  return "";
}

}  // namespace podium::testing
