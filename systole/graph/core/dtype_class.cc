#include "systole/graph/core/dtype_class.h"

namespace systole {

bool contains(DTypeClass dtypes, DType dtype) {
  if (!is_graph_dtype(dtype)) return false;
  const DTypeInfo& info = dtype_info(dtype);
  switch (dtypes) {
    case DTypeClass::any:
      return true;
    case DTypeClass::boolean:
      return dtype == DType::pred;
    case DTypeClass::floating:
      return info.floating;
    case DTypeClass::signed_number:
      return info.floating || (info.integer && info.is_signed);
    case DTypeClass::number:
      return info.floating || info.integer;
  }
  return false;
}

std::string_view describe(DTypeClass dtypes) {
  switch (dtypes) {
    case DTypeClass::any:
      return "one that a device can hold";
    case DTypeClass::boolean:
      return "pred";
    case DTypeClass::floating:
      return "a floating one";
    case DTypeClass::signed_number:
      return "a floating or signed integer one";
    case DTypeClass::number:
      return "a floating or integer one";
  }
  return "";
}

void check_dtype(std::string_view what, DType got, DTypeClass expected) {
  if (contains(expected, got)) return;
  throw invalid_argument("{}, got {}, expected {}", what, got, describe(expected));
}

DType accumulation_dtype(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

}  // namespace systole
