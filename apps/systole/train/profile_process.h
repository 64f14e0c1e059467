// A profile of another process.
#pragma once

#include <cstdint>
#include <string>

namespace systole::app {

// Asks a process of this machine for a profile (SIGUSR2, systole/profile/triggers.h) and waits
// until it is written. Returns the folder of the run. `logdir`: where the process writes profiles;
// "": found from its environment, and from the model_dir in which it trains. Errors: NOT_FOUND for
// no such process; FAILED_PRECONDITION for one that does not take captures: the signal would end
// it; DEADLINE_EXCEEDED if it writes none within `seconds`.
std::string profile_of_process(int64_t pid, const std::string& logdir, double seconds);

}  // namespace systole::app
