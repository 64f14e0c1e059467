// Notices that a device will be taken away soon.
#pragma once

namespace systole::runtime {

// Called by a client whose device is about to be taken away: loops save their work and end.
// Thread-safe.
void note_preemption();

// Whether a notice came since the last clear_preemption(). Thread-safe.
bool preempted();

// Called by a client that has a new device. Thread-safe.
void clear_preemption();

}  // namespace systole::runtime
