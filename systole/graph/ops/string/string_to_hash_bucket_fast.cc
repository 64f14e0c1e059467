#include "systole/graph/api/lookup_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/fingerprint.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_string_to_hash_bucket_fast(const InferContext& c) {
  if (c.attr<int64_t>("num_buckets") < 1) {
    throw invalid_argument("num_buckets, got {}, expected at least 1",
                           c.attr<int64_t>("num_buckets"));
  }
  return infer_string_map<DType::s64>(c);
}

std::vector<Tensor> run_string_to_hash_bucket_fast(HostContext& c) {
  const auto buckets = static_cast<uint64_t>(c.node.attr<int64_t>("num_buckets"));
  return {map_strings<int64_t>(c.inputs[0], [&](const std::string& text) {
    return static_cast<int64_t>(fingerprint64(text) % buckets);
  })};
}

}  // namespace

Output string_to_hash_bucket_fast(const Input& input, int64_t num_buckets,
                                  const NameOptions& options) {
  return Graph::current()
      .add_node("StringToHashBucketFast", {resolve("StringToHashBucketFast", input)},
                {{"num_buckets", num_buckets}}, input.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_string_to_hash_bucket_fast{
    .name = "StringToHashBucketFast",
    .doc = "The bucket that the hash of each string falls into.",
    .inputs = "input: string",
    .outputs = "output: int64",
    .attrs = "num_buckets: int",
    .infer = infer_string_to_hash_bucket_fast,
    .host = run_string_to_hash_bucket_fast,
    .batch = {.rule = batch_same_shape},
};
}  // namespace ops
}  // namespace systole
