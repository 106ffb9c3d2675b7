// How long OpenMP's threads spin while they wait for work.
#pragma once

namespace podium::numeric {

/// Call it first in main with main's arguments. OpenMP reads its environment before main begins and by
/// default spins for milliseconds: two programs on one machine then stop each other for a hundred times as
/// long as they compute. The function starts the program over with a short spin, enough between the ops of a
/// run, unless the user has chosen one (OMP_WAIT_POLICY or GOMP_SPINCOUNT). Returns when there is nothing to
/// do or the system refuses.
void start_over_with_patient_threads(char** words);

}  // namespace podium::numeric
