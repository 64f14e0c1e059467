// Makers of the nodes of all transformations and sources; each node is in its own file. Dataset's
// methods have checked the arguments. Internal to this layer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/data/dataset_options.h"
#include "systole/data/stage.h"
#include "systole/graph/ops/parsing/example_schema.h"

namespace systole::data {

// Sources.
NodePtr tensors_node(Spec spec, Components tensors);
NodePtr slices_node(Spec spec, Components tensors);
// Gathers slices `indices` (batches of s64) of tensors; `spec` is the spec of the batches.
NodePtr gather_node(NodePtr indices, Spec spec, Components tensors);
NodePtr range_node(int64_t start, int64_t stop, int64_t step);
// Names of matching files: see Dataset::list_files.
NodePtr list_files_node(const std::vector<std::string>& patterns, const ListFilesOptions& options,
                        std::optional<uint64_t> seed);
// Returns one element a call, then nullopt: see Dataset::from_generator.
using Generator = std::function<std::optional<Nest<Tensor>>()>;
NodePtr generator_node(std::function<Generator()> make, Spec spec);

// The function of a map; thread-safe. `index` counts the elements.
using RowFunction = std::function<Components(Components&&, int64_t index)>;
class GraphFunction;
struct MapArguments {
  std::shared_ptr<const GraphFunction> graph;  // if it is null:
  RowFunction fn;
  int64_t num_parallel_calls = 0;
  bool deterministic = true;
};
NodePtr map_node(std::string name, NodePtr input, Spec spec, MapArguments arguments);
NodePtr parallel_map_node(std::string name, NodePtr input, Spec spec, MapArguments arguments);
// The predicate of a filter; thread-safe. `index` counts the elements.
using RowPredicate =
    std::function<bool(const Components&, int64_t index, const CallContext& calling)>;
// `graph` is the function that `predicate` calls, if it is written with ops.
NodePtr filter_node(const NodePtr& input, RowPredicate predicate,
                    std::shared_ptr<const GraphFunction> graph = nullptr);

// The argument of a function of data sets: a data set of one element. It runs only inside of that
// function.
NodePtr argument_node(Spec spec);
// Makes the node of a data set for an element: calls `fn`, or runs `body`, which contains
// `argument` and is the same for all elements.
struct DatasetMaker {
  std::function<NodePtr(const Components&)> fn;  // if it is null:
  NodePtr argument;
  NodePtr body;

  // The text for to_string().
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
// Batches of strings parsed by a batched parser of tf.Examples.
struct ParseBatchArguments {
  ExampleSchema schema;  // for ExampleBatch
  Components defaults;
  std::string parser;                          // the name of the node, for errors
  std::shared_ptr<const GraphFunction> graph;  // the function that it replaces
  int64_t batch_size = 0;
  bool drop_remainder = false;
};
NodePtr parse_batch_node(NodePtr input, Spec spec, ParseBatchArguments arguments);
// Pads elements to a batch. Has a shape and a value for each component.
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
  std::shared_ptr<const GraphFunction> graph;  // as in filter_node
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
// Selects components: leaf i of `spec` is component `components[i]`.
NodePtr select_node(NodePtr input, Spec spec, std::vector<size_t> components);

// Errors: INVALID_ARGUMENT for a value below 1, or for an impossible number of threads.
void check_positive(std::string_view what, int64_t value);
void check_calls(std::string_view op, int64_t num_parallel_calls);
// Errors: INVALID_ARGUMENT for an empty std::function.
template <class F>
void check_function(std::string_view op, const F& fn) {
  if (!fn) throw invalid_argument("{}: function, got an empty one, expected one to call", op);
}

// Errors: INVALID_ARGUMENT if a data set has parameters, which `who` does not take.
void check_no_parameters(std::string_view who, const std::vector<Output>& parameters);
// Errors: INVALID_ARGUMENT unless all tensors have a first dimension of the same size.
void check_slices(const Components& tensors);
// Stacks elements of equal shapes along a new first dimension. Errors start with `what`.
Components stack_rows(std::string_view what, std::span<const Components> rows);
// Stacks elements of any shapes, padded.
Components stack_padded(std::string_view what, std::span<const Components> rows,
                        const Padding& padding);
// Returns the spec of batches, with a first dimension of `size` (-1: unknown).
Spec batched(const Spec& spec, int64_t size);
// Returns an element of this spec on which to try a function: zeros and empty strings, unknown
// dimensions 1.
Nest<Tensor> probe_element(const Spec& spec);
// Packs components into an element.
inline Nest<Tensor> to_element(const Spec& spec, Components row) {
  return pack_like(spec, std::move(row));
}
// The spec of string scalars.
inline Spec text_spec() { return TensorType{DType::string, {}}; }
// Returns the user's seed or the graph's.
std::optional<uint64_t> resolve_seed(std::optional<int64_t> seed);
// Returns the random key of a stage: of `seed`, or without one of the iterator and the position of
// the stage.
uint64_t drawing_key(const std::optional<uint64_t>& seed, const StageContext& context,
                     const DatasetNode& node);
// Returns the number of threads for num_parallel_calls.
int thread_count(int64_t num_parallel_calls, const StageContext& context);

}  // namespace systole::data
