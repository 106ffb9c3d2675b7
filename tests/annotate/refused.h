// The answer of a function that must refuse its input.
#pragma once

#include <string>

#include "ir/error.h"

namespace podium::annotate {

/// The text of the Error that `run` throws; "nothing refused" when it throws none.
template <class Run>
std::string refused(Run run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing refused";
}

}  // namespace podium::annotate
