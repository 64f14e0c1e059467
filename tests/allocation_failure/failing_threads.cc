#include "tests/allocation_failure/failing_threads.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <system_error>

#include "systole/base/error.h"

namespace {

std::atomic<int64_t> started{0};
std::atomic<int64_t> first_failing{-1};  // none, if negative

}  // namespace

// The program's own function replaces the C library's, also in shared libraries.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  const int64_t number = started.fetch_add(1);
  const int64_t first = first_failing.load();
  if (first >= 0 && number >= first) return EAGAIN;
  return create(thread, attributes, run, argument);
}

namespace systole::testing {

std::vector<std::string> fail_threads(const std::function<void()>& action) {
  std::vector<std::string> problems;
  for (int64_t first = 0;; ++first) {
    started = 0;
    first_failing = first;
    try {
      action();
    } catch (const Error&) {
    } catch (const std::system_error&) {
    } catch (const std::exception& error) {
      problems.push_back(fmt::format("thread {}: {}", first, error.what()));
    }
    first_failing = -1;
    if (started <= first) return problems;
  }
}

}  // namespace systole::testing
