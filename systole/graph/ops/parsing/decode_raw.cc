#include <algorithm>

#include "systole/graph/api/parsing_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/dtype_class.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_decode_raw(const InferContext& c) {
  check_strings("bytes", c.input(0));
  const DType dtype = c.attr<DType>("out_type");
  if (!is_graph_dtype(dtype) || dtype == DType::s4 || dtype == DType::u4) {
    throw invalid_argument("out_type, got {}, expected a dtype of whole bytes", dtype);
  }
  Dims dims = c.input(0).shape.dims();
  dims.push_back(kUnknown);
  return {{dtype, Shape(std::move(dims))}};
}

// Complex numbers are two of their parts.
void swap_bytes(Tensor& values) {
  const size_t size =
      static_cast<size_t>(size_of(values.dtype())) / (is_complex(values.dtype()) ? 2 : 1);
  auto* const bytes = static_cast<std::byte*>(values.raw());
  const auto count = static_cast<size_t>(values.byte_size());
  for (size_t i = 0; i < count; i += size) std::reverse(bytes + i, bytes + i + size);
}

std::vector<Tensor> run_decode_raw(HostContext& c) {
  const auto texts = c.inputs[0].data<std::string>();
  const DType dtype = c.node.attr<DType>("out_type");
  const size_t length = texts.empty() ? 0 : texts[0].size();
  const auto size = static_cast<size_t>(size_of(dtype));
  if (length % size != 0) {
    throw invalid_argument("bytes, got a string of {}, expected a multiple of {}, the size of {}",
                           length, size, dtype);
  }
  Dims dims = c.inputs[0].shape().dims();
  dims.push_back(static_cast<int64_t>(length / size));
  Tensor result(dtype, Shape(std::move(dims)));
  auto* out = static_cast<char*>(result.raw());
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() != length) {
      throw invalid_argument("bytes of element {}, got {}, expected {} as in element 0", i,
                             texts[i].size(), length);
    }
    out = std::copy_n(texts[i].data(), length, out);
  }
  if (dtype == DType::pred) {
    for (auto* b = static_cast<unsigned char*>(result.raw()); b != static_cast<void*>(out); ++b) {
      *b = *b != 0 ? 1 : 0;
    }
  }
  if (!c.node.attr<bool>("little_endian")) swap_bytes(result);
  return {result};
}

// Any byte but 0 is true for pred.
std::optional<DType> numbers_in_memory(const Node& node) {
  const DType dtype = node.attr<DType>("out_type");
  if (!node.attr<bool>("little_endian") || dtype == DType::pred) return std::nullopt;
  return dtype;
}

}  // namespace

Output decode_raw(const Input& bytes, DType out_type, const DecodeRawOptions& options) {
  return Graph::current()
      .add_node("DecodeRaw", {resolve("DecodeRaw", bytes)},
                {{"out_type", out_type}, {"little_endian", options.little_endian}}, bytes.where(),
                options.name)
      ->output();
}

namespace ops {
extern const OpDef op_decode_raw{
    .name = "DecodeRaw",
    .doc = "The bytes of strings as numbers.",
    .inputs = "bytes: string",
    .outputs = "output: out_type",
    .attrs = "out_type: type, little_endian: bool = true",
    .infer = infer_decode_raw,
    .host = run_decode_raw,
    .reads_bytes_as = numbers_in_memory,
    .batch = {.rule = batch_first_input, .ragged = true},
};
}  // namespace ops
}  // namespace systole
