// Lets threads fail to start. A program that links failing_threads.cc has a pthread_create of its
// own.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace systole::testing {

// Runs `action` again and again: in the n-th run the n-th thread, and all that follow, cannot be
// started, until a run starts fewer. The action may throw Error and std::system_error. Returns what
// else went wrong; a hang or a crash ends the test.
std::vector<std::string> fail_threads(const std::function<void()>& action);

}  // namespace systole::testing
