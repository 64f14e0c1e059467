// Sizes of the PJRT C API's structs by type.
#pragma once

#include "systole/pjrt_abi/pjrt_c_api.h"

namespace systole::pjrt_abi {

// What struct_size says of a struct of this version.
template <class T>
inline constexpr size_t kStructSize = 0;
template <>
inline constexpr size_t kStructSize<PJRT_Api> = PJRT_Api_STRUCT_SIZE;

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define PLAIN(name, ...) \
  template <>            \
  inline constexpr size_t kStructSize<name> = name##_STRUCT_SIZE;
#define STRUCT(name, ...) PLAIN(name)
#define ARGS(name, ...) PLAIN(name##_Args)
#include "systole/pjrt_abi/structs.def"
// NOLINTEND(cppcoreguidelines-macro-usage)

// Returns a struct of zeros with its struct_size.
template <class T>
T make() {
  static_assert(kStructSize<T> > 0);
  T value{};
  value.struct_size = kStructSize<T>;
  return value;
}

}  // namespace systole::pjrt_abi
