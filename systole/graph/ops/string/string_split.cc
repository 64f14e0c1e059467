#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/string_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {
namespace {

// TensorFlow's op gives a sparse tensor; this one the same rows, filled up.
std::vector<TensorType> infer_string_split(const InferContext& c) {
  check_strings("source", c.input(0));
  const Shape& source = c.input(0).shape;
  if (source.rank() != 1) {
    throw invalid_argument("source, got {}, expected a vector of strings", c.input(0));
  }
  check_strings("delimiter", c.input(1));
  return {{DType::string, {source[0], kUnknown}}, {DType::s64, {source[0]}}};
}

std::vector<std::string_view> parts_of(std::string_view text, std::string_view delimiters,
                                       bool skip_empty) {
  std::vector<std::string_view> parts;
  if (delimiters.empty()) {
    for (size_t i = 0; i < text.size(); ++i) parts.push_back(text.substr(i, 1));
    return parts;
  }
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find_first_of(delimiters, begin), text.size());
    if (!skip_empty || end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<Tensor> run_string_split(HostContext& c) {
  const Tensor& source = c.inputs[0];
  const auto delimiter = c.inputs[1].item<std::string>();
  const bool skip_empty = c.node.attr<bool>("skip_empty");
  std::vector<std::vector<std::string_view>> rows;
  size_t longest = 0;
  Tensor lengths(DType::s64, source.shape());
  for (const std::string& text : source.data<std::string>()) {
    rows.push_back(parts_of(text, delimiter, skip_empty));
    longest = std::max(longest, rows.back().size());
    lengths.data<int64_t>()[rows.size() - 1] = static_cast<int64_t>(rows.back().size());
  }
  Tensor values(DType::string, {source.dim(0), static_cast<int64_t>(longest)});
  const auto texts = values.data<std::string>();
  for (size_t i = 0; i < rows.size(); ++i) {
    std::ranges::copy(rows[i], texts.begin() + static_cast<std::ptrdiff_t>(i * longest));
  }
  return {values, lengths};
}

}  // namespace

StringSplit string_split(const Input& source, const StringSplitOptions& options) {
  const CompositionScope scope(source, options.name, "StringSplit");
  const Output text = resolve("StringSplit", source);
  const Output delimiter = constant(Tensor(options.delimiter.c_str()), {.name = "delimiter"});
  Node* const node =
      Graph::current().add_node("StringSplit", {text, delimiter},
                                {{"skip_empty", options.skip_empty}}, {}, scope.result().name);
  return {node->output(0), node->output(1)};
}

Output string_split_scalar(const Input& source, const StringSplitOptions& options) {
  const CompositionScope scope(source, options.name, "StringSplit");
  const Output text = resolve("StringSplit", source);
  StringSplitOptions inner = options;
  inner.name = "";
  return reshape(string_split(reshape(text, {1}), inner).values, {-1}, scope.result());
}

namespace ops {
extern const OpDef op_string_split{
    .name = "StringSplit",
    .doc = "The parts of each string.",
    .inputs = "input: string, delimiter: string",
    .outputs = "values: string, lengths: int64",
    .attrs = "skip_empty: bool = true",
    .graph_def = {.tensorflow = TensorFlowOp::other},
    .infer = infer_string_split,
    .host = run_string_split,
};
}  // namespace ops
}  // namespace systole
