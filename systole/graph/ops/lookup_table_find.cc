#include "systole/graph/host_op.h"

namespace systole {
namespace {

std::vector<TensorType> infer_lookup_table_find(const InferContext& c) {
  const DType wanted = c.attr<DType>("key_dtype");
  const DType got = c.input(0).dtype;
  if (got != wanted && !(got == DType::s32 && wanted == DType::s64)) {
    throw invalid_argument("keys, got {}, expected {}", c.input(0), wanted);
  }
  return {{c.attr<DType>("value_dtype"), c.input(0).shape}};
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
