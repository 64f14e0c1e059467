#include "systole/backends/cpu/jit/own_library.h"

#include <dlfcn.h>
#include <link.h>

namespace systole::cpu {
namespace {

// Never closed: compiled code points into the library.
void* open_own_library() {
  Dl_info info{};
  void* entry = nullptr;
  const auto* const inside = reinterpret_cast<const void*>(&find_own_symbol);
  if (dladdr1(inside, &info, &entry, RTLD_DL_LINKMAP) == 0) return dlopen(nullptr, RTLD_LAZY);
  const std::string path = static_cast<const link_map*>(entry)->l_name;
  // The program itself has no path.
  return dlopen(path.empty() ? nullptr : path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

}  // namespace

void* find_own_symbol(const std::string& name) {
  static void* const library = open_own_library();
  return library == nullptr ? nullptr : dlsym(library, name.c_str());
}

}  // namespace systole::cpu
