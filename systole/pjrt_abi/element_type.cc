#include "systole/pjrt_abi/element_type.h"

#include <array>

#include "systole/base/error.h"

namespace systole::pjrt_abi {
namespace {

// In the order of DType.
constexpr std::array<PJRT_Buffer_Type, kNumDTypes> kTypes = {
    PJRT_Buffer_Type_INVALID,  // invalid
    PJRT_Buffer_Type_PRED,
    PJRT_Buffer_Type_S2,
    PJRT_Buffer_Type_S4,
    PJRT_Buffer_Type_S8,
    PJRT_Buffer_Type_S16,
    PJRT_Buffer_Type_S32,
    PJRT_Buffer_Type_S64,
    PJRT_Buffer_Type_U2,
    PJRT_Buffer_Type_U4,
    PJRT_Buffer_Type_U8,
    PJRT_Buffer_Type_U16,
    PJRT_Buffer_Type_U32,
    PJRT_Buffer_Type_U64,
    PJRT_Buffer_Type_F4E2M1FN,
    PJRT_Buffer_Type_F8E3M4,
    PJRT_Buffer_Type_F8E4M3,
    PJRT_Buffer_Type_F8E4M3B11FNUZ,
    PJRT_Buffer_Type_F8E4M3FN,
    PJRT_Buffer_Type_F8E4M3FNUZ,
    PJRT_Buffer_Type_F8E5M2,
    PJRT_Buffer_Type_F8E5M2FNUZ,
    PJRT_Buffer_Type_F8E8M0FNU,
    PJRT_Buffer_Type_F16,
    PJRT_Buffer_Type_BF16,
    PJRT_Buffer_Type_F32,
    PJRT_Buffer_Type_F64,
    PJRT_Buffer_Type_C64,
    PJRT_Buffer_Type_C128,
    PJRT_Buffer_Type_INVALID,  // string
    PJRT_Buffer_Type_INVALID,  // resource
    PJRT_Buffer_Type_TOKEN,
};

}  // namespace

DType to_dtype(PJRT_Buffer_Type type) {
  for (size_t i = 0; type != PJRT_Buffer_Type_INVALID && i < kTypes.size(); ++i) {
    if (kTypes[i] == type) return static_cast<DType>(i);
  }
  throw unimplemented("PJRT: element type {}, which Systole does not have", static_cast<int>(type));
}

PJRT_Buffer_Type to_pjrt(DType dtype) { return kTypes[static_cast<size_t>(dtype)]; }

}  // namespace systole::pjrt_abi
