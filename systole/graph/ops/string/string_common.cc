#include "systole/graph/ops/string/string_common.h"

#include "systole/graph/core/dtype_class.h"
#include "systole/graph/lowering/broadcast.h"

namespace systole {

void check_any_or_string(std::string_view what, DType dtype) {
  if (dtype != DType::string) check_dtype(what, dtype, DTypeClass::any);
}

std::vector<TensorType> infer_equality(const InferContext& c) {
  const TensorType& x = c.input(0);
  const TensorType& y = c.input(1);
  if (x.dtype != y.dtype) {
    throw invalid_argument("dtypes, got {} and {}, expected equal ones", x, y);
  }
  check_any_or_string("dtype", x.dtype);
  return {{DType::pred, broadcast_shapes(x.shape, y.shape)}};
}

void check_strings(std::string_view what, const TensorType& type) {
  if (type.dtype != DType::string) {
    throw invalid_argument("{}, got {}, expected strings", what, type);
  }
}

void check_text(std::string_view what, const TensorType& type) {
  check_strings(what, type);
  if (type.shape.rank() != 0) throw invalid_argument("{}, got {}, expected a scalar", what, type);
}

}  // namespace systole
