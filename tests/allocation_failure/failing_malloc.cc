#include "tests/allocation_failure/failing_malloc.h"

#include <execinfo.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "systole/base/error.h"

namespace {

std::atomic<int64_t> live{0};
std::atomic<int64_t> calls{0};
// The calls that fail: [first_failing, last_failing].
std::atomic<int64_t> first_failing{-1};
std::atomic<int64_t> last_failing{-1};
thread_local int succeed = 0;

bool fails() {
  if (succeed > 0) return false;
  const int64_t call = calls.fetch_add(1, std::memory_order_relaxed);
  const int64_t first = first_failing.load(std::memory_order_relaxed);
  if (call < first || call > last_failing.load(std::memory_order_relaxed)) return false;
  return call == first || std::uncaught_exceptions() == 0;
}

template <class Allocate>
void* allocate(const Allocate& allocate_it) {
  if (fails()) {
    errno = ENOMEM;
    return nullptr;
  }
  void* const memory = allocate_it();
  if (memory != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

}  // namespace

// A malloc of the program replaces the C library's, also in shared libraries. The C library's
// functions remain available under these names.
extern "C" {
void* __libc_malloc(size_t size);                      // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(size_t count, size_t size);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* memory, size_t size);       // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(size_t alignment, size_t size);  // NOLINT(bugprone-reserved-identifier)
void __libc_free(void* memory);                        // NOLINT(bugprone-reserved-identifier)

void* malloc(size_t size) {
  return allocate([&] { return __libc_malloc(size); });
}
void* calloc(size_t elements, size_t size) {
  return allocate([&] { return __libc_calloc(elements, size); });
}
void* realloc(void* memory, size_t size) {
  if (memory == nullptr) return malloc(size);
  if (size == 0) {
    free(memory);
    return nullptr;
  }
  if (fails()) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  return allocate([&] { return __libc_memalign(alignment, size); });
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  void* const made = memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}
void free(void* memory) {
  if (memory == nullptr) return;
  live.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(memory);
}
}

namespace systole::testing {
namespace {

// For the message of a crash.
std::atomic<int64_t> current{-1};
std::atomic<bool> current_all{false};

void tell_crash() {
  first_failing = -1;
  last_failing = -1;
  std::fprintf(stderr, "crash: allocation %ld%s failed\n", static_cast<long>(current.load()),
               current_all.load() ? " and all that follow" : "");
  void* frames[60];
  backtrace_symbols_fd(frames, backtrace(frames, 60), STDERR_FILENO);
}

[[noreturn]] void on_terminate() {
  tell_crash();
  std::abort();
}

void on_signal(int number) {
  tell_crash();
  std::signal(number, SIG_DFL);  // NOLINT(cert-err33-c): the next one ends the process
  std::raise(number);            // NOLINT(cert-err33-c)
}

void watch_crashes() {
  static const bool watched = [] {
    void* frames[4];
    backtrace(frames, 4);  // loads what it needs
    std::set_terminate(on_terminate);
    for (const int number : {SIGSEGV, SIGFPE, SIGILL, SIGBUS}) std::signal(number, on_signal);
    return true;
  }();
  static_cast<void>(watched);
}

int64_t wanted(int64_t given) {
  constexpr int64_t kSample = 100;
  if (given > 0) return given;
  const char* text = std::getenv("SYSTOLE_FAILING_ALLOCATIONS");  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr ? std::max<int64_t>(std::atoll(text), 1) : kSample;
}

// Returns the exception that the action throws, if it may not.
std::string run_failing(const std::function<void()>& action, int64_t first, int64_t last) {
  current = first;
  current_all = last > first;
  calls = 0;
  std::string problem;
  first_failing = first;
  last_failing = last;
  const auto stop = [] {
    first_failing = -1;
    last_failing = -1;
  };
  try {
    action();
    stop();
  } catch (const Error&) {
    stop();
  } catch (const std::bad_alloc&) {
    stop();
  } catch (const std::exception& error) {
    stop();
    problem = fmt::format("got an exception that is no Error: {}", error.what());
  } catch (...) {
    stop();
    problem = "got an unknown exception";
  }
  return problem;
}

class Trials {
 public:
  Trials(const std::function<void()>& action, const AllocationFailureOptions& options)
      : action_(action), options_(options) {}

  AllocationFailures run() {
    watch_crashes();
    for (int i = 0; i < 2; ++i) action_();  // makes what is kept, such as tables
    calls = 0;
    action_();
    report_.allocations = calls;
    const int64_t all = wanted(options_.tried);
    const int64_t step = std::max<int64_t>((report_.allocations - all) / all, 1);
    for (int64_t n = 0; n < report_.allocations; n += n < all ? 1 : step) {
      try_one(n, n);
      try_one(n, INT64_MAX);
    }
    return std::move(report_);
  }

 private:
  std::string run_and_check(int64_t first, int64_t last) {
    std::string problem = run_failing(action_, first, last);
    if (options_.check == nullptr) return problem;
    const std::string wrong = options_.check();
    return problem.empty() ? wrong : problem;
  }

  void try_one(int64_t first, int64_t last) {
    ++report_.runs;
    int64_t before = live;
    std::string problem = run_and_check(first, last);
    // What is kept is made at its first use: a leak is what every run adds.
    const auto leaks = [&] { return live > before + options_.leaks; };
    for (int again = 0; again < 3 && problem.empty() && leaks(); ++again) {
      before = live;
      problem = run_and_check(first, last);
      if (again == 2 && leaks()) {
        problem = fmt::format("leaks {} allocations", live.load() - before);
      }
    }
    constexpr size_t kMaxProblems = 10;
    if (problem.empty() || report_.problems.size() == kMaxProblems) return;
    report_.problems.push_back(fmt::format("allocation {}{}: {}", first,
                                           last > first ? " and all that follow" : "", problem));
  }

  const std::function<void()>& action_;
  const AllocationFailureOptions& options_;
  AllocationFailures report_;
};

}  // namespace

AllocationsSucceed::AllocationsSucceed() { ++succeed; }
AllocationsSucceed::~AllocationsSucceed() { --succeed; }

AllocationFailures fail_allocations(const std::function<void()>& action,
                                    const AllocationFailureOptions& options) {
  return Trials(action, options).run();
}

}  // namespace systole::testing
