// Summaries: values of a graph for TensorBoard. (tf.summary)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/api/graph.h"
#include "systole/graph/api/op_options.h"
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

// Each names a value of the current graph and gives the op that stands for the summary. The tag is
// the name with the name scopes around it; a second one of a name is "name_1". Nothing is computed
// until someone fetches the value, or, in a session, the op: a string scalar, the Summary message,
// for FileWriter (train/file_writer.h). Errors: INVALID_ARGUMENT for a tensor of another shape or
// dtype.
//
// One number.
Output scalar(std::string_view name, const Input& tensor, const Options& options = {});
// All elements; reals of any shape.
Output histogram(std::string_view name, const Input& values, const Options& options = {});
// [batch, height, width, 1, 3 or 4]: u8 as it is; floats scaled so that the largest is 255, or with
// negative ones, so that 0 is 128. Tags are "name/image" or "name/image/0"...
Output image(std::string_view name, const Input& tensor, const ImageOptions& options = {});
// Strings.
Output text(std::string_view name, const Input& tensor, const Options& options = {});

// Several messages as one; all of the collection, or an invalid Output when there are none.
// (tf.summary.merge, tf.summary.merge_all)
Output merge(const InputList& inputs, const NameOptions& options = {});
Output merge_all(std::string_view key = graph_keys::summaries);

enum class Kind : uint8_t { scalar, histogram, image, text };

struct Record {
  std::string tag;
  Kind kind = Kind::scalar;
  Output value;  // what to fetch
  int max_outputs = 3;
};

// The summaries of a graph in the order of making.
std::vector<Record> collected(const Graph& graph,
                              std::string_view collection = graph_keys::summaries);

}  // namespace summary

// Turns fetched values into events. `events` outlives it. Not thread-safe.
class SummaryWriter {
 public:
  explicit SummaryWriter(EventWriter& events) : events_(events) {}

  // One event with the value of each record at this step; values[i] belongs to records[i].
  // Errors: INVALID_ARGUMENT with the tag and the step: a value that does not fit its record; a
  // histogram of values that are not finite, with the first of them.
  void add(std::span<const summary::Record> records, std::span<const Tensor> values, int64_t step);

 private:
  EventWriter& events_;
};

// What add() writes for one value: images give one value each.
std::vector<SummaryValue> summary_values(const summary::Record& record, const Tensor& value);

}  // namespace systole
