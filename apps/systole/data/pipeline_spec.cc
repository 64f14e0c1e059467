#include "apps/systole/data/pipeline_spec.h"

#include <algorithm>

namespace systole::app {
namespace {

constexpr ConfigKey kMapKeys[] = {
    {"ops", "list of ops", "required", "What is done to each element, one after another."},
    {"num_parallel_calls", "integer", "0", "Threads that do it."}};
constexpr ConfigKey kShuffleKeys[] = {
    {"buffer_size", "integer", "required", "Elements among which the next one is drawn."},
    {"seed", "integer", "0", "Equal seeds, equal orders."},
    {"reshuffle_each_iteration", "boolean", "true", "Another order in each epoch."}};
constexpr ConfigKey kRepeatKeys[] = {{"count", "integer", "-1", "Epochs; -1: without end."}};
constexpr ConfigKey kBatchKeys[] = {
    {"batch_size", "integer", "required", "Elements in a batch."},
    {"drop_remainder", "boolean", "false", "Leave out a last batch that is not full."}};
constexpr ConfigKey kPrefetchKeys[] = {
    {"buffer_size", "integer", "AUTOTUNE", "Elements made ahead."}};
constexpr ConfigKey kTakeKeys[] = {{"count", "integer", "required", "How many; -1: all."}};
constexpr ConfigKey kSkipKeys[] = {{"count", "integer", "required", "How many; -1: all."}};
constexpr ConfigKey kShardKeys[] = {
    {"num_shards", "integer", "required", "Every how many-th element is kept."},
    {"index", "integer", "required", "The first of them."}};
constexpr ConfigKey kCacheKeys[] = {
    {"file", "text", "", "Where the first epoch is kept; in memory when absent."}};
constexpr ConfigKey kEnumerateKeys[] = {{"start", "integer", "0", "The first number."}};

Dataset map_stage(const Dataset& dataset, const ConfigSection& argument) {
  const ConfigNode list = argument.require("ops", "ops: a list of ops");
  std::vector<GraphOp> ops;
  for (const ConfigNode& entry : list.items("map", "ops: a list of ops")) {
    const auto [name, op_argument] = named(entry, "op");
    ops.push_back(parse_pipeline_op(name, op_argument));
  }
  return dataset.map(
      [ops](const Nest<Output>& element) {
        Nest<Output> result = element;
        for (const GraphOp& op : ops) result = op(result);
        return result;
      },
      {.num_parallel_calls = argument.integer("num_parallel_calls", 0)});
}

Dataset shuffle_stage(const Dataset& dataset, const ConfigSection& argument) {
  return dataset.shuffle(
      argument.integer("buffer_size"),
      {.seed = argument.integer("seed", 0),
       .reshuffle_each_iteration = argument.flag("reshuffle_each_iteration", true)});
}

constexpr PipelineStage kStages[] = {
    {"map", "Ops on each element.", kMapKeys, &map_stage},
    {"shuffle", "Elements in another order.", kShuffleKeys, &shuffle_stage},
    {"repeat", "Epoch after epoch.", kRepeatKeys,
     [](const Dataset& dataset, const ConfigSection& argument) {
       return dataset.repeat(argument.integer("count", -1));
     }},
    {"batch", "Elements together.", kBatchKeys,
     [](const Dataset& dataset, const ConfigSection& argument) {
       return dataset.batch(argument.integer("batch_size"), argument.flag("drop_remainder"));
     }},
    {"prefetch", "Elements made ahead, on a thread of its own.", kPrefetchKeys,
     [](const Dataset& dataset, const ConfigSection& argument) {
       return dataset.prefetch(argument.integer("buffer_size", AUTOTUNE));
     }},
    {"take", "The first elements.", kTakeKeys,
     [](const Dataset& dataset, const ConfigSection& argument) {
       return dataset.take(argument.integer("count"));
     }},
    {"skip", "All but the first elements.", kSkipKeys,
     [](const Dataset& dataset, const ConfigSection& argument) {
       return dataset.skip(argument.integer("count"));
     }},
    {"shard", "Every n-th element.", kShardKeys,
     [](const Dataset& dataset, const ConfigSection& argument) {
       return dataset.shard(argument.integer("num_shards"), argument.integer("index"));
     }},
    {"cache", "The first epoch is kept.", kCacheKeys,
     [](const Dataset& dataset, const ConfigSection& argument) {
       const std::string file = argument.text("file");
       return file.empty() ? dataset.cache() : dataset.cache(file);
     }},
    {"enumerate", "A number before each element.", kEnumerateKeys,
     [](const Dataset& dataset, const ConfigSection& argument) {
       return dataset.enumerate(argument.integer("start", 0));
     }},
    {"unbatch", "The elements of batches.", {}, [](const Dataset& dataset, const ConfigSection&) {
       return dataset.unbatch();
     }}};

template <class Row>
const Row* find_row(std::span<const Row> table, const std::string& name) {
  const auto row =
      std::ranges::find_if(table, [&](const Row& candidate) { return candidate.name == name; });
  return row == table.end() ? nullptr : &*row;
}

void add_stage(Pipeline& pipeline, const ConfigNode& entry) {
  const auto [name, argument] = named(entry, "stage");
  if (is_pipeline_op(name)) {
    const GraphOp op = parse_pipeline_op(name, argument);
    pipeline.dataset =
        pipeline.dataset.map([op](const Nest<Output>& element) { return op(element); });
    return;
  }
  const PipelineStage* stage = find_row(pipeline_stages(), name);
  if (stage == nullptr) {
    std::vector<std::string> names = names_of(pipeline_stages());
    std::ranges::copy(pipeline_op_names(), std::back_inserter(names));
    throw entry.error("stage", "'" + name + "'", expected_names(name, names));
  }
  pipeline.dataset = stage->apply(pipeline.dataset, ConfigSection(name, argument, stage->keys));
  if (name == "batch") pipeline.batched = true;
  if (name == "unbatch") pipeline.batched = false;
}

}  // namespace

std::span<const PipelineStage> pipeline_stages() { return kStages; }

Pipeline parse_pipeline(const ConfigNode& stages, const std::string& folder) {
  const std::string wanted = "a list of stages, a source first";
  const std::vector<ConfigNode> entries = stages.items("pipeline", wanted);
  if (entries.empty()) throw stages.error("pipeline", "an empty list", wanted);
  const auto [name, argument] = named(entries[0], "source");
  const PipelineSource* source = find_row(pipeline_sources(), name);
  if (source == nullptr) {
    throw entries[0].error("source", "'" + name + "'",
                           expected_names(name, names_of(pipeline_sources())));
  }
  Pipeline pipeline = source->make(ConfigSection(name, argument, source->keys), folder);
  for (size_t i = 1; i < entries.size(); ++i) add_stage(pipeline, entries[i]);
  return pipeline;
}

Pipeline parse_pipeline(const std::string& yaml, const std::string& file) {
  return parse_pipeline(ConfigNode::parse(yaml, file));
}

}  // namespace systole::app
