// Lets allocations of host memory fail, and finds leaks. A program that links failing_malloc.cc has
// a malloc of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace systole::testing {

struct AllocationFailures {
  int64_t allocations = 0;  // of a run in which none fails
  int64_t runs = 0;         // in which one failed
  // "allocation 7: <what>": an exception other than Error and std::bad_alloc, or a leak.
  std::vector<std::string> problems;
};

struct AllocationFailureOptions {
  // All n up to this number are tried, and of the later ones about as many, equally spaced. 0: the
  // environment variable SYSTOLE_FAILING_ALLOCATIONS, or 100.
  int64_t tried = 0;
  // Leaks of up to so many allocations are allowed: libraries that are not written for exceptions
  // forget an object.
  int64_t leaks = 0;
  // Runs after each failure, with memory, before leaks are counted. Returns what is wrong, "" for
  // nothing.
  std::function<std::string()> check = nullptr;
};

// Runs `action` again and again. In the n-th run the n-th allocation fails, on whatever thread, in
// two ways: alone, and with all that follow but those of destructors while an exception unwinds the
// stack, which frees memory. The action may throw Error and std::bad_alloc. A crash prints n.
AllocationFailures fail_allocations(const std::function<void()>& action,
                                    const AllocationFailureOptions& options = {});

// Allocations of this thread succeed while one of these lives. For the parts of a test that are not
// tested.
class AllocationsSucceed {
 public:
  AllocationsSucceed();
  ~AllocationsSucceed();
  AllocationsSucceed(const AllocationsSucceed&) = delete;
  AllocationsSucceed& operator=(const AllocationsSucceed&) = delete;
};

}  // namespace systole::testing
