// Captures that a user asks for from outside of the program.
#pragma once

namespace systole::profile {

// Installs the triggers of this process. Training loops call it; a later call changes the folder
// for signals only.
//   SYSTOLE_PROFILE=folder   captures the next SYSTOLE_PROFILE_SECONDS (10) seconds, or until the
//                            process ends
//   SIGUSR2                  captures so many seconds (2), into SYSTOLE_PROFILE, else into
//                            `folder`, else ./profile
// The signal is left alone if the program has a handler of its own, or ignores it.
void install_triggers(const char* folder = nullptr);

}  // namespace systole::profile
