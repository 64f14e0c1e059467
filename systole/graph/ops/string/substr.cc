#include "systole/base/escape.h"
#include "systole/graph/api/string_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/dtype_class.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/ops/string/string_common.h"
#include "systole/graph/ops/string/text_unit.h"

namespace systole {
namespace {

enum : int { kSubstrInput, kSubstrPos, kSubstrLen };

std::vector<TensorType> infer_substr(const InferContext& c) {
  check_strings("input", c.input(kSubstrInput));
  check_text_unit(c.attr<std::string>("unit"));
  const Shape& shape = c.input(kSubstrInput).shape;
  for (const int i : {kSubstrPos, kSubstrLen}) {
    const TensorType& type = c.input(i);
    const bool fits = type.shape.rank() == 0 || type.shape.compatible_with(shape);
    if ((type.dtype == DType::s32 || type.dtype == DType::s64) && fits) continue;
    throw invalid_argument("{}, got {}, expected s32 or s64 of shape [] or {}",
                           i == kSubstrPos ? "pos" : "len", type, shape);
  }
  return {{DType::string, shape}};
}

int64_t integer_at(const Tensor& values, int64_t i) {
  return static_cast<int64_t>(values.as_double(values.num_elements() == 1 ? 0 : i));
}

std::string part(const std::string& text, int64_t pos, int64_t len, bool utf8) {
  const auto size = static_cast<int64_t>(utf8 ? count_utf8(text) : text.size());
  const int64_t begin = pos < 0 ? size + pos : pos;
  if (begin < 0 || begin > size) {
    throw invalid_argument("pos, got {} in {} of length {}, expected in [-{}, {}]", pos,
                           quoted_text(text), size, size, size);
  }
  const int64_t end = std::min(size, begin + std::max<int64_t>(0, std::min(len, size)));
  auto first = static_cast<size_t>(begin);
  auto last = static_cast<size_t>(end);
  if (utf8) {
    first = utf8_offset(text, first);
    last = utf8_offset(text, last);
  }
  return text.substr(first, last - first);
}

std::vector<Tensor> run_substr(HostContext& c) {
  const bool utf8 = c.node.attr<std::string>("unit") == "UTF8_CHAR";
  for (const int i : {kSubstrPos, kSubstrLen}) {
    const Tensor& values = c.inputs[i];
    if (values.rank() != 0 && values.shape() != c.inputs[0].shape()) {
      throw invalid_argument("{}, got {}, expected shape [] or {}", i == kSubstrPos ? "pos" : "len",
                             values.type(), c.inputs[0].shape());
    }
  }
  int64_t i = 0;
  return {map_strings<std::string>(c.inputs[0], [&](const std::string& text) {
    const int64_t pos = integer_at(c.inputs[kSubstrPos], i);
    const int64_t len = integer_at(c.inputs[kSubstrLen], i++);
    return part(text, pos, len, utf8);
  })};
}

}  // namespace

Output substr(const Input& input, const Input& pos, const Input& len,
              const SubstrOptions& options) {
  const DType dtype = common_dtype({pos, len});
  const Output text = resolve("Substr", input);
  const std::vector<Output> range = resolve("Substr", {pos, len}, dtype);
  return Graph::current()
      .add_node("Substr", {text, range[0], range[1]}, {{"T", dtype}, {"unit", options.unit}},
                input.where(), options.name)
      ->output();
}

namespace ops {
extern const OpDef op_substr{
    .name = "Substr",
    .doc = "A part of each string.",
    .inputs = "input: string, pos: T, len: T",
    .outputs = "output: string",
    .attrs = "unit: string = 'BYTE'",
    .infer = infer_substr,
    .host = run_substr,
    .batch = {.rule = batch_same_shape},
};
}  // namespace ops
}  // namespace systole
