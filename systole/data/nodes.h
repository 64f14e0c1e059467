// The nodes of all transformations and sources, each in a file of its own. Arguments have been
// checked by Dataset's methods. Internal to this layer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/data/dataset.h"
#include "systole/data/stage.h"
#include "systole/graph/ops/parsing/example_schema.h"

namespace systole::data {

// Sources.
NodePtr tensors_node(Spec spec, Components tensors);
NodePtr slices_node(Spec spec, Components tensors);
// Rows `indices` (batches of s64) of tensors; `spec` is that of the batches.
NodePtr gather_node(NodePtr indices, Spec spec, Components tensors);
NodePtr range_node(int64_t start, int64_t stop, int64_t step);
// Names of files that match: see Dataset::list_files.
NodePtr list_files_node(const std::vector<std::string>& patterns, const ListFilesOptions& options,
                        std::optional<uint64_t> seed);
NodePtr generator_node(std::function<Dataset::Generator()> make, Spec spec);

// What a map calls; thread-safe. `index` counts the elements.
using RowFunction = std::function<Components(Components&&, int64_t index)>;
class GraphFunction;
struct MapArguments {
  std::shared_ptr<const GraphFunction> graph;  // or, where it is null:
  RowFunction fn;
  int64_t num_parallel_calls = 0;
  bool deterministic = true;
};
NodePtr map_node(std::string name, NodePtr input, Spec spec, MapArguments arguments);
NodePtr parallel_map_node(std::string name, NodePtr input, Spec spec, MapArguments arguments);
// What a filter asks; thread-safe. `index` counts the elements.
using RowPredicate =
    std::function<bool(const Components&, int64_t index, const CallContext& calling)>;
// `graph`: what `predicate` calls, where that is written with ops.
NodePtr filter_node(const NodePtr& input, RowPredicate predicate,
                    std::shared_ptr<const GraphFunction> graph = nullptr);

// A data set of one element: the one that a function of data sets is given. It runs inside of that
// function alone.
NodePtr argument_node(Spec spec);
// How an element becomes a data set: by a call, or as `body`, which has `argument` in it, and is
// the same for all elements.
struct DatasetMaker {
  std::function<Dataset(const Components&)> fn;  // or, where it is null:
  NodePtr argument;
  NodePtr body;

  // What to_string() says of it.
  std::string to_string() const { return body == nullptr ? "" : body->to_string(); }
};
NodePtr flat_map_node(NodePtr input, Spec spec, DatasetMaker maker);
NodePtr interleave_node(NodePtr input, Spec spec, DatasetMaker maker, InterleaveOptions options);
NodePtr parallel_interleave_node(NodePtr input, Spec spec, DatasetMaker maker,
                                 InterleaveOptions options);

NodePtr zip_node(std::vector<NodePtr> inputs, Spec spec);
NodePtr concatenate_node(NodePtr first, NodePtr second, Spec spec);
NodePtr sample_node(std::vector<NodePtr> inputs, Spec spec, std::vector<double> weights,
                    std::optional<uint64_t> seed);
NodePtr enumerate_node(NodePtr input, int64_t start);
NodePtr take_node(NodePtr input, int64_t count);
NodePtr skip_node(NodePtr input, int64_t count);
NodePtr shard_node(NodePtr input, int64_t num_shards, int64_t index);
NodePtr repeat_node(const NodePtr& input, int64_t count);
NodePtr shuffle_node(const NodePtr& input, int64_t buffer_size, std::optional<uint64_t> seed,
                     bool reshuffle);

NodePtr batch_node(const NodePtr& input, int64_t batch_size, bool drop_remainder);
// Batches of texts as the outputs of a batched parser of tf.Examples.
struct ParseBatchArguments {
  ExampleSchema schema;  // that ExampleBatch takes
  Components defaults;
  std::string parser;                          // the node, for errors
  std::shared_ptr<const GraphFunction> graph;  // what it stands for
  int64_t batch_size = 0;
  bool drop_remainder = false;
};
NodePtr parse_batch_node(NodePtr input, Spec spec, ParseBatchArguments arguments);
// How rows become a padded batch. Shapes and values have one entry a component.
struct Padding {
  std::vector<Shape> shapes;
  std::vector<Tensor> values;
};
NodePtr padded_batch_node(const NodePtr& input, int64_t batch_size, Padding padding,
                          bool drop_remainder);
NodePtr unbatch_node(const NodePtr& input);
struct BucketArguments {
  // `index` counts the elements.
  std::function<int64_t(const Components&, int64_t index, const CallContext& calling)> length;
  std::shared_ptr<const GraphFunction> graph;  // as of a filter
  BucketOptions options;
  Padding padding;
};
NodePtr bucket_node(NodePtr input, Spec spec, BucketArguments arguments);
NodePtr window_node(const NodePtr& input, int64_t size, int64_t shift, int64_t stride,
                    bool drop_remainder);

NodePtr memory_cache_node(const NodePtr& input);
NodePtr file_cache_node(const NodePtr& input, std::string path, FileSystem& file_system);
NodePtr prefetch_node(const NodePtr& input, int64_t buffer_size);
NodePtr ignore_errors_node(const NodePtr& input);
NodePtr options_node(const NodePtr& input, DatasetOptions options);
NodePtr set_shape_node(NodePtr input, Spec spec);
// Components taken by position: leaf i of `spec` is component `components[i]`.
NodePtr select_node(NodePtr input, Spec spec, std::vector<size_t> components);

// Errors: INVALID_ARGUMENT for a value below 1; for a number of threads that cannot be.
void check_positive(std::string_view what, int64_t value);
void check_calls(std::string_view op, int64_t num_parallel_calls);
// Errors: INVALID_ARGUMENT for an empty std::function.
template <class F>
void check_function(std::string_view op, const F& fn) {
  if (!fn) throw invalid_argument("{}: function, got an empty one, expected one to call", op);
}

// Errors: INVALID_ARGUMENT for a data set with parameters: `who` does not take it.
void check_no_parameters(std::string_view who, const Dataset& dataset);
// Errors: INVALID_ARGUMENT unless all have rows, and equally many.
void check_slices(const Components& tensors);
// Rows of equal shapes as one with a new first dimension. `what` begins errors.
Components stack_rows(std::string_view what, std::span<const Components> rows);
// Rows of any shapes, padded.
Components stack_padded(std::string_view what, std::span<const Components> rows,
                        const Padding& padding);
// The spec of batches: a first dimension of `size` (-1: not known).
Spec batched(const Spec& spec, int64_t size);
// An element of this spec to try a function on: zeros and empty texts, unknown dimensions 1.
Element probe_element(const Spec& spec);
// The element that a row is.
inline Element to_element(const Spec& spec, Components row) {
  return pack_like(spec, std::move(row));
}
// The seed that a stage draws with: the user's or the graph's.
std::optional<uint64_t> resolve_seed(std::optional<int64_t> seed);
// The key for a stage that draws: of `seed`, or for one without of the iterator and its place.
uint64_t drawing_key(const std::optional<uint64_t>& seed, const StageContext& context,
                     const DatasetNode& node);
// Threads that num_parallel_calls means here.
int thread_count(int64_t num_parallel_calls, const StageContext& context);

}  // namespace systole::data
