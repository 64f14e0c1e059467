// Summaries: values of a graph for TensorBoard. (tf.summary)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_options.h"
#include "systole/io/events/event_writer.h"

namespace systole {
namespace summary {

struct Options {
  std::vector<std::string> collections = {};  // in place of {graph_keys::summaries}
  std::string family = {};                    // groups tags: "family/scope/family/name"
};
struct ImageOptions {
  int max_outputs = 3;
  std::vector<std::string> collections = {};
  std::string family = {};
};

// Each function registers a value of the current graph and returns an op: a string scalar with the
// Summary message, for FileWriter (train/file_writer.h). The tag is the name with its name scopes;
// the second use of a name is "name_1". A value is computed only in runs that fetch it or the op.
// Errors: INVALID_ARGUMENT for a tensor of another shape or dtype.
//
// One number.
Output scalar(std::string_view name, const Input& tensor, const Options& options = {});
// The distribution of all elements, of any shape. Real dtypes.
Output histogram(std::string_view name, const Input& values, const Options& options = {});
// [batch, height, width, channels] with 1, 3 or 4 channels. u8 is written unchanged. Floats are
// scaled so that the largest is 255; with negative values, so that 0 is 128. Tags are "name/image",
// or "name/image/0" and so on.
Output image(std::string_view name, const Input& tensor, const ImageOptions& options = {});
// Strings.
Output text(std::string_view name, const Input& tensor, const Options& options = {});

// Merge several messages into one. merge_all: those of a collection; invalid if it is empty.
// (tf.summary.merge, tf.summary.merge_all)
Output merge(const InputList& inputs, const NameOptions& options = {});
Output merge_all(std::string_view key = graph_keys::summaries);

enum class Kind : uint8_t { scalar, histogram, image, text };

struct Record {
  std::string tag;
  Kind kind = Kind::scalar;
  Output value;  // to fetch
  int max_outputs = 3;
};

// Returns the summaries of a graph, in the order of creation.
std::vector<Record> collected(const Graph& graph,
                              std::string_view collection = graph_keys::summaries);

}  // namespace summary

// Writes fetched values as events. `events` outlives it. Not thread-safe.
class SummaryWriter {
 public:
  explicit SummaryWriter(EventWriter& events) : events_(events) {}

  // Adds one event with the value of each record at this step; values[i] belongs to records[i].
  // Errors: INVALID_ARGUMENT, with the tag and the step, for a value that does not fit its record
  // and for a histogram of values that are not finite.
  void add(std::span<const summary::Record> records, std::span<const Tensor> values, int64_t step);

 private:
  EventWriter& events_;
};

// Returns what add() writes for one value; for images one entry each.
std::vector<SummaryValue> summary_values(const summary::Record& record, const Tensor& value);

}  // namespace systole
