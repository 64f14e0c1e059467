#include "systole/graph/initializers/initializer_def.h"

namespace systole {

Initializer make_initializer(const InitializerDef& def, RuleValues arguments,
                             std::optional<int64_t> seed) {
  if (def.check != nullptr) def.check(arguments);
  return [&def, arguments = std::move(arguments), seed](const Shape& shape, DType dtype) {
    return def.value({arguments, seed, shape, dtype});
  };
}

}  // namespace systole
