#include "systole/base/environment.h"

#include <cstdlib>

namespace systole {

std::string environment_value(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): see the header
  return value == nullptr ? "" : value;
}

}  // namespace systole
