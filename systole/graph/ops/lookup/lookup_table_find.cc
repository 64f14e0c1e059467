#include "systole/graph/host_op.h"

namespace systole {
namespace {

std::vector<TensorType> infer_lookup_table_find(const InferContext& c) {
  const DType wanted = c.attr<DType>("key_dtype");
  const DType values = c.attr<DType>("value_dtype");
  const bool numbers = wanted == DType::string && values == DType::s64;
  if (!numbers && !(wanted == DType::s64 && values == DType::string)) {
    throw invalid_argument("table, got one from {} to {}, expected string to s64 or back", wanted,
                           values);
  }
  const DType got = c.input(0).dtype;
  if (got != wanted && !(got == DType::s32 && wanted == DType::s64)) {
    throw invalid_argument("keys, got {}, expected {}", c.input(0), wanted);
  }
  return {{values, c.input(0).shape}};
}

}  // namespace

namespace ops {
extern const OpDef op_lookup_table_find;
const OpDef op_lookup_table_find{
    .name = "LookupTableFindV2",
    .doc = "The values of keys in a table.",
    .infer = infer_lookup_table_find,
    .host = kernel_of_session,
};
}  // namespace ops
}  // namespace systole
