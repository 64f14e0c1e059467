#include "systole/base/lapack.h"

#include <dlfcn.h>

#include "systole/base/error.h"

namespace systole {
namespace {

struct LapackLibrary {
  void* handle = nullptr;
  std::string error;
};

const LapackLibrary& lapack_library() {
  static const LapackLibrary library = [] {
    LapackLibrary opened;
    opened.handle = dlopen("liblapacke.so.3", RTLD_NOW | RTLD_LOCAL);
    if (opened.handle == nullptr) {
      opened.error = dlerror();
      return opened;
    }
    // NaNs are for the routines to handle, which report them as JAX expects.
    if (void* const check = dlsym(opened.handle, "LAPACKE_set_nancheck")) {
      reinterpret_cast<void (*)(int)>(check)(0);
    }
    return opened;
  }();
  return library;
}

}  // namespace

void load_lapack(const std::string& target) {
  const LapackLibrary& library = lapack_library();
  if (library.handle != nullptr) return;
  throw unimplemented("{} needs LAPACK (Debian's liblapacke), got {}", target, library.error);
}

void* find_lapack_symbol(const std::string& name) {
  load_lapack(name);
  if (void* const symbol = dlsym(lapack_library().handle, name.c_str())) return symbol;
  throw unimplemented("liblapacke.so.3 does not have {}", name);
}

int check_lapack_status(const std::string& routine, int status) {
  if (status >= 0) return status;
  throw internal_error("{}: argument {} has an illegal value", routine, -status);
}

}  // namespace systole
