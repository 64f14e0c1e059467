#include "systole/graph/ops/string/fingerprint.h"

#include <farmhash.h>

namespace systole {

uint64_t fingerprint64(std::string_view text) {
  return util::Fingerprint64(text.data(), text.size());
}

}  // namespace systole
