#include "systole/graph/core/composition.h"

namespace systole {

Output resolve_as(std::string_view op, const Input& input, DTypeClass dtypes) {
  try {
    check_dtype("dtype", input.dtype(), dtypes);
  } catch (const Error& error) {
    throw at_line(Error(error.code(), fmt::format("{}: {}", op, error.message())), input.where());
  }
  return resolve(op, input);
}

}  // namespace systole
