// The name of a thread, as recordings of the profiler show it.
#pragma once

namespace systole {

// Names the calling thread. `name` is a string literal.
void name_thread(const char* name);
// Returns the name of the calling thread, null if it has none.
const char* thread_name();

}  // namespace systole
