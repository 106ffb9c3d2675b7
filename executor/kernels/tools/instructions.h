// For which instructions of the machine the kernels are compiled.
#pragma once

#include <string_view>

namespace podium::kernels {

/// "x86-64-v4": the highest level whose instructions the compiler could use, with "x86-64" for none beyond
/// the first and "baseline" on other processors. A build for machines of any kind has kernels of several
/// levels, of which the loader takes one.
std::string_view instructions();

}  // namespace podium::kernels
