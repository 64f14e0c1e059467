#include "systole/base/library_pages.h"

#if defined(__linux__)

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace systole {
namespace {

using Segment = ElfW(Phdr);

template <class Fn>
void for_each_segment(const dl_phdr_info& library, uint32_t type, const Fn& fn) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const Segment& segment = library.dlpi_phdr[i];
    if (segment.p_type == type) fn(segment, library.dlpi_addr + segment.p_vaddr);
  }
}

bool contains(const dl_phdr_info& library, uintptr_t address) {
  bool found = false;
  for_each_segment(library, PT_LOAD, [&](const Segment& segment, uintptr_t begin) {
    found = found || (begin <= address && address < begin + segment.p_memsz);
  });
  return found;
}

// The loader has written addresses into the code.
bool has_changed_code(const dl_phdr_info& library) {
  bool changed = false;
  for_each_segment(library, PT_DYNAMIC, [&](const Segment&, uintptr_t begin) {
    for (const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(begin); entry->d_tag != DT_NULL;
         ++entry) {
      changed = changed || entry->d_tag == DT_TEXTREL ||
                (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0);
    }
  });
  return changed;
}

// Segments that cannot be written hold what is in the file.
void release_segments(const dl_phdr_info& library) {
  if (has_changed_code(library)) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for_each_segment(library, PT_LOAD, [page](const Segment& segment, uintptr_t start) {
    if ((segment.p_flags & PF_W) != 0) return;
    // A page at either end may hold another segment, too.
    const uintptr_t begin = (start + page - 1) / page * page;
    const uintptr_t end = (start + segment.p_memsz) / page * page;
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  });
}

// The kernel's own library is in no file.
bool is_in_a_file(const dl_phdr_info& library) {
  return library.dlpi_name != nullptr &&
         (library.dlpi_name[0] == '\0' || library.dlpi_name[0] == '/');
}

}  // namespace

void release_library_pages(const void* inside) {
  auto address = reinterpret_cast<uintptr_t>(inside);
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* wanted) {
        if (!contains(*library, *static_cast<uintptr_t*>(wanted))) return 0;
        release_segments(*library);
        return 1;
      },
      &address);
}

void release_all_library_pages() {
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void*) {
        if (is_in_a_file(*library)) release_segments(*library);
        return 0;
      },
      nullptr);
}

}  // namespace systole

#else

namespace systole {

void release_library_pages(const void*) {}
void release_all_library_pages() {}

}  // namespace systole

#endif
