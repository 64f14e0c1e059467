#include "systole/graph/api/lookup_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/fingerprint.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_crossed_buckets(const InferContext& c) {
  if (c.num_inputs() == 0) throw invalid_argument("columns, got none, expected words or numbers");
  if (c.attr<int64_t>("num_buckets") < 1) {
    throw invalid_argument("num_buckets, got {}, expected at least 1",
                           c.attr<int64_t>("num_buckets"));
  }
  const Shape& shape = c.input(0).shape;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const TensorType& column = c.input(i);
    if (column.dtype != DType::string && column.dtype != DType::s64) {
      throw invalid_argument("columns, got {}, expected strings or s64", column);
    }
    if (!column.shape.compatible_with(shape)) {
      throw invalid_argument("column {}, got shape {}, expected {}", i, column.shape, shape);
    }
  }
  return {{DType::s64, shape}};
}

uint64_t mixed_bits(uint64_t value) { return value ^ (value >> 47U); }

// TensorFlow's FingerprintCat64.
uint64_t joined(uint64_t first, uint64_t second) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995U;
  uint64_t result = first ^ kFactor;
  result ^= mixed_bits(second * kFactor) * kFactor;
  result *= kFactor;
  return mixed_bits(mixed_bits(result) * kFactor);
}

std::vector<Tensor> run_crossed_buckets(HostContext& c) {
  const auto buckets = static_cast<uint64_t>(c.node.attr<int64_t>("num_buckets"));
  const Shape& shape = c.inputs[0].shape();
  std::vector<uint64_t> hashes(static_cast<size_t>(shape.num_elements()),
                               static_cast<uint64_t>(c.node.attr<int64_t>("hash_key")));
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    const Tensor& column = c.inputs[k];
    if (column.shape() != shape) {
      throw invalid_argument("column {}, got shape {}, expected {}", k, column.shape(), shape);
    }
    for (size_t i = 0; i < hashes.size(); ++i) {
      const uint64_t own = column.dtype() == DType::string
                               ? fingerprint64(column.data<std::string>()[i])
                               : static_cast<uint64_t>(column.data<int64_t>()[i]);
      hashes[i] = joined(hashes[i], own);
    }
  }
  Tensor result(DType::s64, shape);
  const auto numbers = result.data<int64_t>();
  for (size_t i = 0; i < hashes.size(); ++i) numbers[i] = static_cast<int64_t>(hashes[i] % buckets);
  return {result};
}

}  // namespace

Output crossed_buckets(const InputList& columns, int64_t num_buckets,
                       const CrossedBucketsOptions& options) {
  const std::vector<Output> values = columns.resolve();
  const SourceLocation where =
      columns.inputs().empty() ? SourceLocation() : columns.inputs()[0].where();
  return Graph::current()
      .add_node("CrossedBuckets", values,
                {{"num_buckets", num_buckets}, {"hash_key", options.hash_key}}, where, options.name)
      ->output();
}

namespace ops {
extern const OpDef op_crossed_buckets{
    .name = "CrossedBuckets",
    .doc = "The bucket of the hash of what columns have at each place.",
    .inputs = "columns: T",
    .outputs = "output: int64",
    .attrs = "T: list(type), num_buckets: int, hash_key: int = 956888297470",
    .graph_def = {.tensorflow = TensorFlowOp::none},
    .infer = infer_crossed_buckets,
    .host = run_crossed_buckets,
    .batch = {.rule = batch_same_shape},
};
}  // namespace ops
}  // namespace systole
