// The stages of a pipeline's YAML.
#include <algorithm>
#include <array>

#include "apps/systole/config/with_location.h"
#include "apps/systole/data/pipeline_spec.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"

namespace systole::app {
namespace {

constexpr ConfigKey kMapKeys[] = {
    {"ops", "list of ops", "required", "Ops to apply, in order."},
    {"num_parallel_calls", "integer or AUTOTUNE", "0", "Number of threads."}};
constexpr ConfigKey kShuffleKeys[] = {
    {"buffer_size", "integer", "required", "Number of elements to draw from."},
    {"seed", "integer", "0", "Equal seeds give equal orders."},
    {"reshuffle_each_iteration", "boolean", "true", "Shuffle again in each epoch."}};
constexpr ConfigKey kRepeatKeys[] = {
    {"count", "integer", "-1", "Number of epochs; -1 for no end."}};
constexpr ConfigKey kBatchKeys[] = {
    {"batch_size", "integer", "required", "Number of elements in a batch."},
    {"drop_remainder", "boolean", "false", "Drop a last batch that is not full."}};
constexpr ConfigKey kPrefetchKeys[] = {
    {"buffer_size", "integer or AUTOTUNE", "AUTOTUNE", "Number of elements."}};
constexpr ConfigKey kTakeKeys[] = {
    {"count", "integer", "required", "Number of elements; -1 for all."}};
constexpr ConfigKey kSkipKeys[] = {
    {"count", "integer", "required", "Number of elements; -1 for all."}};
constexpr ConfigKey kShardKeys[] = {{"num_shards", "integer", "required", "Number of shards."},
                                    {"index", "integer", "required", "Index of the shard."}};
constexpr ConfigKey kCacheKeys[] = {
    {"file", "text", "", "File to store it in; in memory by default."}};
constexpr ConfigKey kEnumerateKeys[] = {{"start", "integer", "0", "The first number."}};
constexpr ConfigKey kPaddedKeys[] = {
    {"batch_size", "integer", "required", "Number of elements in a batch."},
    {"drop_remainder", "boolean", "false", "Drop a last batch that is not full."},
    {"padded_shapes", "map of sizes", "",
     "Shape of each feature; -1, or an absent feature, means the largest of the batch."},
    {"padding_values", "map", "", "Padding of each feature; by default 0 or an empty text."}};
constexpr ConfigKey kBucketKeys[] = {
    {"bucket_boundaries", "list of integers", "required",
     "Length at which each next bucket begins."},
    {"bucket_batch_sizes", "list of integers", "required",
     "Batch size of each bucket: one more than boundaries."},
    {"feature", "text", "", "Feature whose first dimension is the length."},
    {"pad_to_bucket_boundary", "boolean", "false",
     "Pad to the boundary minus 1, so that a bucket has one shape."},
    {"drop_remainder", "boolean", "false", "Drop batches that are not full."},
    {"padded_shapes", "map of sizes", "", "As in padded_batch."},
    {"padding_values", "map", "", "As in padded_batch."}};
constexpr ConfigKey kWindowKeys[] = {
    {"size", "integer", "required", "Elements in a window."},
    {"shift", "integer", "", "Distance between window starts; the size by default."},
    {"stride", "integer", "1", "Distance between elements of a window."},
    {"drop_remainder", "boolean", "false", "Drop windows that are not full."}};
struct Comparison {
  ConfigKey key;
  Output (*of_values)(const Input& x, const Input& y, const NameOptions& options);
  bool (*of_lengths)(double x, double y);
};
constexpr Comparison kComparisons[] = {
    {{"equal", "number or text", "", "Must be equal to this."},
     &equal,
     [](double x, double y) { return x == y; }},
    {{"not_equal", "number or text", "", "Must differ from this."},
     &not_equal,
     [](double x, double y) { return x != y; }},
    {{"less", "number", "", "Must be below this."},
     &less,
     [](double x, double y) { return x < y; }},
    {{"less_equal", "number", "", "Must be at most this."},
     &less_equal,
     [](double x, double y) { return x <= y; }},
    {{"greater", "number", "", "Must be above this."},
     &greater,
     [](double x, double y) { return x > y; }},
    {{"greater_equal", "number", "", "Must be at least this."},
     &greater_equal,
     [](double x, double y) { return x >= y; }}};
constexpr auto kFilterKeys = [] {
  std::array<ConfigKey, 2 + std::size(kComparisons)> keys{
      {{"feature", "text", "", "Feature to test; without a condition, it must be true."},
       {"length", "boolean", "false", "Test the number of rows, not the value."}}};
  for (size_t i = 0; i < std::size(kComparisons); ++i) keys[2 + i] = kComparisons[i].key;
  return keys;
}();
constexpr ConfigKey kInterleaveKeys[] = {
    {"pipeline", "pipeline", "required",
     "Pipeline of one element. `tfrecord`, `text_line` and `fixed_length` without files read the "
     "file that the element names; `element` is the element itself."},
    {"cycle_length", "integer", "10", "Number of pipelines to interleave."},
    {"block_length", "integer", "1", "Consecutive elements from one pipeline."},
    {"num_parallel_calls", "integer or AUTOTUNE", "0", "Number of threads that read ahead."},
    {"deterministic", "boolean", "true", "false: elements in the order in which they are ready."}};
constexpr ConfigKey kFlatMapKeys[] = {{"pipeline", "pipeline", "required", "As in interleave."}};

Dataset map_stage(const Dataset& dataset, const ConfigSection& argument,
                  const PipelineScope& scope) {
  const ConfigNode list = argument.require("ops", "ops: a list of ops");
  std::vector<std::pair<ConfigNode, GraphOp>> ops;
  for (const ConfigNode& entry : list.items("map", "ops: a list of ops")) {
    const auto [name, op_argument] = named(entry, "op");
    ops.emplace_back(entry, parse_pipeline_op(name, op_argument, scope));
  }
  return dataset.map(
      [&](const Nest<Output>& element) {
        Nest<Output> result = element;
        for (const auto& [entry, op] : ops) {
          result = with_location(entry, [&, &op = op] { return op(result); });
        }
        return result;
      },
      {.num_parallel_calls = integer_or_autotune(argument, "num_parallel_calls", 0)});
}

Dataset shuffle_stage(const Dataset& dataset, const ConfigSection& argument, const PipelineScope&) {
  return dataset.shuffle(
      argument.integer("buffer_size"),
      {.seed = argument.integer("seed", 0),
       .reshuffle_each_iteration = argument.flag("reshuffle_each_iteration", true)});
}

// The value of a section for each feature, or for an element without names; `otherwise` if absent.
template <class T, class Otherwise, class Read>
Nest<T> of_features(const ElementSpec& spec, const ConfigSection& section, const std::string& key,
                    const Otherwise& otherwise, const Read& read) {
  const ConfigNode node = section.find(key);
  if (!spec.is_dict()) {
    if (node.present() && spec.is_leaf()) return read(node, spec.leaf());
    if (node.present()) throw node.error(section.what(key), node.shown(), "features with names");
    return spec.map(otherwise);
  }
  if (node.present()) {
    for (const auto& [name, value] : node.entries(section.what(key))) {
      if (spec.find(name) != nullptr) continue;
      throw value.error(section.what(key), "'" + name + "'", expected_names(name, spec.names()));
    }
  }
  std::vector<typename Nest<T>::Entry> entries;
  for (const std::string& name : spec.names()) {
    const ConfigNode value = node[name];
    entries.emplace_back(name, value.present() ? Nest<T>(read(value, spec[name].leaf()))
                                               : spec[name].map(otherwise));
  }
  return Nest<T>::dict(std::move(entries));
}

Nest<Shape> padded_shapes(const ElementSpec& spec, const ConfigSection& section) {
  return of_features<Shape>(
      spec, section, "padded_shapes", [](const TensorType& type) { return type.shape; },
      [&](const ConfigNode& node, const TensorType&) {
        Dims dims;
        for (const ConfigNode& size : node.items(section.what("padded_shapes"), "sizes")) {
          dims.push_back(size.as<int64_t>(section.what("padded_shapes"), "a size"));
        }
        return Shape(std::move(dims));
      });
}

Nest<Tensor> padding_values(const ElementSpec& spec, const ConfigSection& section) {
  return of_features<Tensor>(
      spec, section, "padding_values",
      [](const TensorType& type) { return Tensor::zeros(type.dtype, {}); },
      [&](const ConfigNode& node, const TensorType& type) {
        const std::string what = section.what("padding_values");
        if (type.dtype == DType::string) return Tensor(node.as<std::string>(what, "a text"));
        return Tensor(node.as<double>(what, "a number")).cast(type.dtype);
      });
}

Dataset padded_batch_stage(const Dataset& dataset, const ConfigSection& argument,
                           const PipelineScope&) {
  const ElementSpec& spec = dataset.element_spec();
  return dataset.padded_batch(argument.integer("batch_size"),
                              {.padded_shapes = padded_shapes(spec, argument),
                               .padding_values = padding_values(spec, argument),
                               .drop_remainder = argument.flag("drop_remainder")});
}

// The type of the feature that `feature` names; without a name, of an element that is one tensor.
const TensorType& feature_type(const ElementSpec& element, const ConfigSection& argument) {
  const std::string name = argument.text("feature");
  const ElementSpec* const found = name.empty() ? &element : element.find(name);
  if (found != nullptr && found->is_leaf()) return found->leaf();
  const std::string got = name.empty() ? "none" : "'" + name + "'";
  throw argument.node().error(argument.what("feature"), got,
                              element.is_dict() ? expected_names(name, element.names())
                                                : "none: the elements are " + element.to_string());
}

// The number of rows of the feature that a section names.
std::function<int64_t(const Element&)> length_of(const Dataset& dataset,
                                                 const ConfigSection& argument) {
  const std::string feature = argument.text("feature");
  const ElementSpec& spec = dataset.element_spec();
  const TensorType& type = feature_type(spec, argument);
  if (type.shape.rank() == 0) {
    throw argument.node().error(argument.what("feature"), fmt::format("{}", type),
                                "one with a length");
  }
  return [feature](const Element& element) {
    return (feature.empty() ? element : element[feature]).leaf().dim(0);
  };
}

Dataset bucket_stage(const Dataset& dataset, const ConfigSection& argument, const PipelineScope&) {
  const ElementSpec& spec = dataset.element_spec();
  return dataset.bucket_by_sequence_length(
      length_of(dataset, argument),
      {.bucket_boundaries = argument.integers("bucket_boundaries"),
       .bucket_batch_sizes = argument.integers("bucket_batch_sizes"),
       .padded_shapes = padded_shapes(spec, argument),
       .padding_values = padding_values(spec, argument),
       .pad_to_bucket_boundary = argument.flag("pad_to_bucket_boundary"),
       .drop_remainder = argument.flag("drop_remainder")});
}

Dataset window_stage(const Dataset& dataset, const ConfigSection& argument, const PipelineScope&) {
  const int64_t size = argument.integer("size");
  const bool drop_remainder = argument.flag("drop_remainder");
  return dataset
      .window(size, {.shift = argument.optional_integer("shift"),
                     .stride = argument.integer("stride", 1),
                     .drop_remainder = drop_remainder})
      .flat_map([&](const Nest<Dataset>& window) {
        return Dataset::zip(window.map(
            [&](const Dataset& component) { return component.batch(size, drop_remainder); }));
      });
}

Output compared(const Output& value, const ConfigSection& argument) {
  std::optional<Output> result;
  for (const Comparison& comparison : kComparisons) {
    const char* const key = comparison.key.name;
    if (!argument.has(key)) continue;
    // Compares integers exactly, also with numbers that are not integers.
    const Output holds =
        value.dtype() == DType::string
            ? comparison.of_values(value, Tensor(argument.text(key)), {})
            : comparison.of_values(cast(value, DType::f64), Tensor(argument.number(key)), {});
    result = result ? logical_and(*result, holds) : holds;
  }
  return result.value_or(value);
}

Dataset filter_stage(const Dataset& dataset, const ConfigSection& argument, const PipelineScope&) {
  if (!argument.flag("length")) {
    const std::string feature = argument.text("feature");
    feature_type(dataset.element_spec(), argument);
    return dataset.filter([&](const Nest<Output>& element) -> Nest<Output> {
      return compared((feature.empty() ? element : element[feature]).leaf(), argument);
    });
  }
  std::vector<std::pair<const Comparison*, double>> tests;
  for (const Comparison& comparison : kComparisons) {
    if (!argument.has(comparison.key.name)) continue;
    tests.emplace_back(&comparison, argument.number(comparison.key.name));
  }
  return dataset.filter_cpp([length = length_of(dataset, argument), tests](const Element& element) {
    const auto rows = static_cast<double>(length(element));
    return std::ranges::all_of(
        tests, [&](const auto& test) { return test.first->of_lengths(rows, test.second); });
  });
}

// The pipeline of each element.
std::function<Dataset(const Dataset&)> inner_pipeline(const ConfigSection& argument,
                                                      const PipelineScope& scope) {
  return [&argument, &scope](const Dataset& element) {
    PipelineScope inside = scope;
    inside.element = element;
    const ConfigNode stages = argument.require("pipeline", "a pipeline");
    const Pipeline pipeline = parse_pipeline(stages, inside);
    if (pipeline.batched) {
      throw stages.error(argument.what("pipeline"), "a batch stage",
                         "single elements, with the batch stage after it");
    }
    return pipeline.dataset;
  };
}

Dataset interleave_stage(const Dataset& dataset, const ConfigSection& argument,
                         const PipelineScope& scope) {
  return dataset.interleave(
      inner_pipeline(argument, scope),
      {.cycle_length = argument.integer("cycle_length", 10),
       .block_length = argument.integer("block_length", 1),
       .num_parallel_calls = integer_or_autotune(argument, "num_parallel_calls", 0),
       .deterministic = argument.flag("deterministic", true)});
}

Dataset flat_map_stage(const Dataset& dataset, const ConfigSection& argument,
                       const PipelineScope& scope) {
  return dataset.flat_map(inner_pipeline(argument, scope));
}

constexpr PipelineStage kStages[] = {
    {"map", "Applies ops to each element.", kMapKeys, &map_stage},
    {"shuffle", "Shuffles elements.", kShuffleKeys, &shuffle_stage},
    {"repeat", "Repeats the input.", kRepeatKeys,
     [](const Dataset& dataset, const ConfigSection& argument, const PipelineScope&) {
       return dataset.repeat(argument.integer("count", -1));
     }},
    {"batch", "Stacks elements.", kBatchKeys,
     [](const Dataset& dataset, const ConfigSection& argument, const PipelineScope&) {
       return dataset.batch(argument.integer("batch_size"), argument.flag("drop_remainder"));
     },
     Gives::batches},
    {"padded_batch", "Stacks elements of different shapes, padded.", kPaddedKeys,
     &padded_batch_stage, Gives::batches},
    {"bucket_by_sequence_length", "Batches elements of similar length, padded.", kBucketKeys,
     &bucket_stage, Gives::batches},
    {"prefetch", "Computes elements ahead, on a separate thread.", kPrefetchKeys,
     [](const Dataset& dataset, const ConfigSection& argument, const PipelineScope&) {
       return dataset.prefetch(integer_or_autotune(argument, "buffer_size", AUTOTUNE));
     }},
    {"take", "The first elements.", kTakeKeys,
     [](const Dataset& dataset, const ConfigSection& argument, const PipelineScope&) {
       return dataset.take(argument.integer("count"));
     }},
    {"skip", "All but the first elements.", kSkipKeys,
     [](const Dataset& dataset, const ConfigSection& argument, const PipelineScope&) {
       return dataset.skip(argument.integer("count"));
     }},
    {"shard", "Every n-th element.", kShardKeys,
     [](const Dataset& dataset, const ConfigSection& argument, const PipelineScope&) {
       return dataset.shard(argument.integer("num_shards"), argument.integer("index"));
     }},
    {"cache", "Stores the first epoch for later ones.", kCacheKeys,
     [](const Dataset& dataset, const ConfigSection& argument, const PipelineScope& scope) {
       const std::string file = argument.text("file");
       return file.empty() ? dataset.cache() : dataset.cache(scope.path_of(file));
     }},
    {"enumerate", "Adds a number to each element.", kEnumerateKeys,
     [](const Dataset& dataset, const ConfigSection& argument, const PipelineScope&) {
       return dataset.enumerate(argument.integer("start", 0));
     }},
    {"window", "Stacks consecutive elements.", kWindowKeys, &window_stage},
    {"filter", "Keeps elements that fulfil all conditions.", kFilterKeys, &filter_stage},
    {"interleave", "Runs a pipeline for each element and interleaves their elements.",
     kInterleaveKeys, &interleave_stage},
    {"flat_map", "Runs a pipeline for each element and concatenates their elements.", kFlatMapKeys,
     &flat_map_stage},
    {"ignore_errors",
     "Drops elements that fail and logs their number.",
     {},
     [](const Dataset& dataset, const ConfigSection&, const PipelineScope&) {
       return dataset.ignore_errors();
     }},
    {"unbatch",
     "Splits batches into elements.",
     {},
     [](const Dataset& dataset, const ConfigSection&, const PipelineScope&) {
       return dataset.unbatch();
     },
     Gives::examples}};

}  // namespace

std::span<const PipelineStage> pipeline_stages() { return kStages; }

}  // namespace systole::app
