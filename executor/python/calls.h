// How calls from Python go into Podium: without the interpreter's lock, one at a time into a session, until a
// signal ends them.
#pragma once

#include <pybind11/pybind11.h>

#include <mutex>

#include "executor/session/check_options.h"

namespace podium::python {

/// Called while a session runs. Looks now and then whether a signal has come, and throws Interrupted when its
/// handler raised.
void look_for_signals();

/// The handler of a signal has raised an exception, which Python holds.
struct Interrupted {};

/// Error in a process that was forked from one that had used Podium: its threads do not exist there.
void check_process();

/// Gives what `work` gives, which runs without the interpreter's lock; only one at a time with the same
/// `busy`. An Error has the model's name in front, once, as on the command line.
template <class Work>
auto call(const std::string& model, std::mutex* busy, const Work& work) {
  check_process();
  try {
    const pybind11::gil_scoped_release unlocked;
    const auto alone = busy == nullptr ? std::unique_lock<std::mutex>() : std::unique_lock(*busy);
    return work();
  } catch (const Interrupted&) {
    throw pybind11::error_already_set();
  } catch (const IllegalOptions&) {
    throw;
  } catch (const Error& error) {
    throw error.is_at(model) ? error : error.at(model);
  }
}

}  // namespace podium::python
