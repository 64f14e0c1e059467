#include "tests/steady_state/allocation_counter.h"

#include <execinfo.h>
#include <link.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> count{0};
thread_local bool noting = false;  // backtrace may allocate

struct Range {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool contains(const void* address) const {
    const auto at = reinterpret_cast<uintptr_t>(address);
    return begin <= at && at < end;
  }
};
Range onednn_code;

int find_onednn(dl_phdr_info* library, size_t, void*) {
  if (std::string_view(library->dlpi_name).find("libdnnl") == std::string_view::npos) return 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    onednn_code.begin = library->dlpi_addr + segment.p_vaddr;
    onednn_code.end = onednn_code.begin + segment.p_memsz;
  }
  return 1;
}

bool called_by_onednn() {
  constexpr int kDepth = 12;
  void* callers[kDepth];
  const int depth = backtrace(callers, kDepth);
  for (int i = 0; i < depth; ++i) {
    if (onednn_code.contains(callers[i])) return true;
  }
  return false;
}

void note() {
  if (!counting.load(std::memory_order_relaxed) || noting) return;
  noting = true;
  if (!called_by_onednn()) count.fetch_add(1, std::memory_order_relaxed);
  noting = false;
}

}  // namespace

// A malloc of the program replaces the C library's, also in shared libraries. The C library's
// functions remain available under these names.
extern "C" {
void* __libc_malloc(size_t size);                      // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(size_t count, size_t size);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* memory, size_t size);       // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(size_t alignment, size_t size);  // NOLINT(bugprone-reserved-identifier)

void* malloc(size_t size) {
  note();
  return __libc_malloc(size);
}
void* calloc(size_t elements, size_t size) {
  note();
  return __libc_calloc(elements, size);
}
void* realloc(void* memory, size_t size) {
  note();
  return __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}

namespace systole::testing {

int64_t allocations_of(const std::function<void()>& body) {
  dl_iterate_phdr(find_onednn, nullptr);
  called_by_onednn();  // loads what backtrace needs
  count = 0;
  counting = true;
  body();
  counting = false;
  return count;
}

}  // namespace systole::testing
