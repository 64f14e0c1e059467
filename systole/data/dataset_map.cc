// map and filter with functions written with ops.
#include "systole/data/dataset.h"
#include "systole/data/graph_function.h"
#include "systole/data/nodes.h"

namespace systole {

Dataset Dataset::map_graph(const GraphFunction& fn, const MapOptions& options) const {
  data::check_calls("map", options.num_parallel_calls);
  // Maps of one pipeline that draw without seeds do not all draw the same.
  HostFunction function =
      HostFunction::trace(element_spec(), fn, {.entropy = static_cast<uint64_t>(node()->size())});
  ElementSpec spec = function.result_spec();
  auto graph = std::make_shared<const data::GraphFunction>("map", std::move(function));
  return Dataset(data::map_node("map", node(), std::move(spec),
                                {.graph = std::move(graph),
                                 .num_parallel_calls = options.num_parallel_calls,
                                 .deterministic = options.deterministic}));
}

Dataset Dataset::filter_graph(const GraphFunction& predicate) const {
  HostFunction function = HostFunction::trace(element_spec(), predicate);
  const TensorType wanted{DType::pred, {}};
  const std::vector<TensorType> got = function.result_spec().flatten();
  if (got.size() != 1 || got.front().dtype != DType::pred || got.front().shape.rank() != 0) {
    throw invalid_argument("filter: result of the predicate, got {}, expected {}",
                           function.result_spec().to_string(), wanted);
  }
  return Dataset(data::filter_node(node(), [function = std::move(function)](const Row& row) {
    return function(row).front().item<bool>();
  }));
}

Dataset Dataset::bucket_graph(const GraphFunction& element_length,
                              const BucketOptions& options) const {
  HostFunction function = HostFunction::trace(element_spec(), element_length);
  const std::vector<TensorType> got = function.result_spec().flatten();
  const bool is_length = got.size() == 1 && got.front().shape == Shape() &&
                         (got.front().dtype == DType::s64 || got.front().dtype == DType::s32);
  if (!is_length) {
    throw invalid_argument(
        "bucket_by_sequence_length: result of element_length_func, got {}, expected {}",
        function.result_spec().to_string(), TensorType{DType::s64, {}});
  }
  return bucket_cpp(
      [function = std::move(function)](const Element& element) {
        const Row row = element.flatten();
        return static_cast<int64_t>(function(row).front().as_double(0));
      },
      options);
}

Dataset Dataset::batch(int64_t batch_size, bool drop_remainder) const {
  data::check_positive("batch: batch_size", batch_size);
  return Dataset(data::batches_of(node(), batch_size, drop_remainder));
}

}  // namespace systole
