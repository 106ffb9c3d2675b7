// The arithmetic limit of one core, measured.
#pragma once

namespace podium::bench {

/// Float multiply-adds a second with every operand in a register, in GFLOP/s (a multiply-add counts two).
double measure_peak();

}  // namespace podium::bench
