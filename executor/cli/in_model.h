// Errors of what is done with the command's one model.
#pragma once

#include <new>

#include "executor/cli/options.h"
#include "executor/cli/usage_error.h"
#include "executor/session/check_options.h"

namespace podium::cli {

/// Gives what `step` gives; an Error of it with the model's name in front, once; what the options alone
/// are to blame for stays as it is.
template <class Step>
auto in_model(const Options& options, Step step) {
  try {
    return step();
  } catch (const UsageError&) {
    throw;
  } catch (const IllegalOptions&) {
    throw;
  } catch (const Error& error) {
    throw error.is_at(options.paths[0]) ? error : error.at(options.paths[0]);
  } catch (const std::bad_alloc&) {
    throw Error("{}: out of memory", options.paths[0]);
  }
}

}  // namespace podium::cli
