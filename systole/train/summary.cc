#include "systole/train/summary.h"

#include <algorithm>
#include <cctype>
#include <mutex>
#include <optional>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/string_ops.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/variable.h"
#include "systole/graph/core/where_scope.h"
#include "systole/session/host/host_kernel.h"

namespace systole::summary {
namespace {

// As TensorFlow's clean_tag.
std::string clean(std::string_view name) {
  std::string cleaned;
  for (const char c : name) {
    const bool kept = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '/' ||
                      c == '_' || c == '.';
    cleaned += kept ? c : '_';
  }
  cleaned.erase(0, cleaned.find_first_not_of('/'));
  return cleaned;
}

struct OpRow {
  Kind kind;
  std::string_view op;
};
constexpr OpRow kOps[] = {{Kind::scalar, "ScalarSummary"},
                          {Kind::histogram, "HistogramSummary"},
                          {Kind::image, "ImageSummary"},
                          {Kind::text, "TensorSummaryV2"}};

std::string_view op_of(Kind kind) { return std::ranges::find(kOps, kind, &OpRow::kind)->op; }

// The record of a summary node, without its tag.
std::optional<Record> record_of(const Node& node) {
  const auto row = std::ranges::find(kOps, node.op_name(), &OpRow::op);
  if (row == std::end(kOps)) return std::nullopt;
  Record record{.kind = row->kind, .value = node.input(1)};
  if (row->kind == Kind::image) {
    record.max_outputs = static_cast<int>(node.attr<int64_t>("max_images"));
  }
  return record;
}

std::vector<Tensor> run_summary(KernelContext& c) {
  Record record = *record_of(c.node);
  record.tag = c.input(0).item<std::string>();
  return {Tensor(summary_bytes(summary_values(record, c.input(1))))};
}

// A session that fetches a summary op gets the serialised message.
void register_summary_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const OpRow& row : kOps) register_host_kernel(std::string(row.op), run_summary);
  });
}

Output add_summary(Kind kind, std::string_view name, const Output& value, const Options& options,
                   AttrMap attrs = {}) {
  register_summary_kernels();
  const std::string_view op = op_of(kind);
  const std::string base = clean(name);
  const NameScope scope(options.family.empty() ? base : clean(options.family) + "/" + base);
  std::string tag = scope.name().substr(0, scope.name().size() - 1);
  if (!options.family.empty()) tag = clean(options.family) + "/" + tag;
  std::vector<Output> inputs = {constant(Tensor(tag.c_str()), {.name = "tags"}), value};
  if (kind == Kind::text) {
    // SummaryMetadata{plugin_data{plugin_name: "text"}}
    inputs.push_back(
        constant(Tensor("\x0a\x06\x0a\x04text"), {.name = "serialized_summary_metadata"}));
  }
  attrs.emplace("T", value.dtype());
  const Output made =
      Graph::current().add_node(op, inputs, std::move(attrs), {}, scope.name())->output();
  std::vector<std::string> keys = options.collections;
  if (keys.empty()) keys.emplace_back(graph_keys::summaries);
  for (const std::string& key : keys) Graph::current().root().add_to_collection(key, made);
  return made;
}

Error wrong(std::string_view op, std::string_view name, const Output& value,
            std::string_view expected) {
  return at_line(
      invalid_argument("{}: '{}', got {}, expected {}", op, name, value.type(), expected), {});
}

}  // namespace

Output scalar(std::string_view name, const Input& tensor, const Options& options) {
  const WhereScope where(tensor.where());
  const Output value = resolve("ScalarSummary", tensor);
  if (!is_numeric(value.dtype()) || is_complex(value.dtype()) || value.shape().rank() != 0) {
    throw wrong("ScalarSummary", name, value, "a real scalar");
  }
  return add_summary(Kind::scalar, name, value, options);
}

Output histogram(std::string_view name, const Input& values, const Options& options) {
  const WhereScope where(values.where());
  const Output value = resolve("HistogramSummary", values);
  if (!is_numeric(value.dtype()) || is_complex(value.dtype())) {
    throw wrong("HistogramSummary", name, value, "real numbers");
  }
  return add_summary(Kind::histogram, name, value, options);
}

Output image(std::string_view name, const Input& tensor, const ImageOptions& options) {
  const WhereScope where(tensor.where());
  const Output value = resolve("ImageSummary", tensor);
  const Shape& shape = value.shape();
  const bool fits = shape.rank() == 4 && (shape[3] == 1 || shape[3] == 3 || shape[3] == 4) &&
                    (value.dtype() == DType::u8 || is_floating(value.dtype()));
  if (!fits) {
    throw wrong("ImageSummary", name, value, "u8 or floats of [batch, height, width, 1, 3 or 4]");
  }
  if (options.max_outputs < 1) {
    throw at_line(invalid_argument("ImageSummary: max_outputs of '{}', got {}, expected at least 1",
                                   name, options.max_outputs),
                  {});
  }
  const Tensor bad_color = Tensor::of<uint8_t>({4}, {255, 0, 0, 255});
  return add_summary(Kind::image, name, value,
                     {.collections = options.collections, .family = options.family},
                     {{"max_images", int64_t{options.max_outputs}}, {"bad_color", bad_color}});
}

Output text(std::string_view name, const Input& tensor, const Options& options) {
  const WhereScope where(tensor.where());
  const Output value = resolve("TensorSummaryV2", tensor);
  if (value.dtype() != DType::string) throw wrong("TensorSummaryV2", name, value, "strings");
  return add_summary(Kind::text, name, value, options);
}

std::vector<Record> collected(const Graph& graph, std::string_view collection) {
  std::vector<Record> records;
  for (const Output& output : graph.collection<Output>(collection)) {
    std::optional<Record> record = record_of(*output.node());
    if (!record) continue;
    record->tag = output.node()->input(0).node()->attr<Tensor>("value").item<std::string>();
    records.push_back(std::move(*record));
  }
  return records;
}

// Concatenated Summary messages are the merged message.
Output merge(const InputList& inputs, const NameOptions& options) {
  return string_join(inputs, {.name = options.name.empty() ? "MergeSummary" : options.name});
}

Output merge_all(std::string_view key) {
  const auto summaries = Graph::current().root().collection<Output>(key);
  return summaries.empty() ? Output() : merge(summaries);
}

}  // namespace systole::summary
