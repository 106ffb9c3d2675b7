#include "executor/cli/version.h"

#include <fmt/core.h>

#include "executor/kernels/tools/instructions.h"

namespace podium::cli {

// The numbers come from CMake: the headers that define them must not be seen here.
std::string version_text() {
  return fmt::format("podium {}\nonnx {}\nprotobuf {}\neigen {}\nonednn {}\nkernels {}\n", PODIUM_VERSION,
                     PODIUM_ONNX_VERSION, PODIUM_PROTOBUF_VERSION, PODIUM_EIGEN_VERSION,
                     PODIUM_ONEDNN_VERSION, kernels::instructions());
}

std::string program_name() { return fmt::format("podium {}", PODIUM_VERSION); }

}  // namespace podium::cli
