// The processor's own flag of operations that were invalid: maxima, minima and comparisons of NaN raise it,
// and so does what makes a NaN of numbers.
#pragma once

namespace podium::kernels {

/// Takes the flag back, on every thread that kernels use.
void clear_invalid_flag();

/// Whether one of these threads has raised it since.
bool is_invalid_flag_set();

/// The same of the current thread alone.
void clear_own_invalid_flag();
bool is_own_invalid_flag_set();

}  // namespace podium::kernels
