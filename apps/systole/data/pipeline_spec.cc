#include "apps/systole/data/pipeline_spec.h"

#include <algorithm>

#include "apps/systole/config/with_location.h"

namespace systole::app {
namespace {

template <class Row>
const Row* find_row(std::span<const Row> table, const std::string& name) {
  const auto row =
      std::ranges::find_if(table, [&](const Row& candidate) { return candidate.name == name; });
  return row == table.end() ? nullptr : &*row;
}

void add_stage(Pipeline& pipeline, const ConfigNode& entry, const PipelineScope& scope) {
  const auto [name, argument] = named(entry, "stage");
  if (is_pipeline_op(name)) {
    const GraphOp op = parse_pipeline_op(name, argument, scope);
    pipeline.dataset = with_location(entry, [&] {
      return pipeline.dataset.map([&](const Nest<Output>& element) { return op(element); });
    });
    return;
  }
  const PipelineStage* stage = find_row(pipeline_stages(), name);
  if (stage == nullptr) {
    std::vector<std::string> names = names_of(pipeline_stages());
    std::ranges::copy(pipeline_op_names(), std::back_inserter(names));
    throw entry.error("stage", "'" + name + "'", expected_names(name, names));
  }
  pipeline.dataset = with_location(entry, [&, &name = name, &argument = argument] {
    return stage->apply(pipeline.dataset, ConfigSection(name, argument, stage->keys), scope);
  });
  if (stage->gives != Gives::what_it_gets) pipeline.batched = stage->gives == Gives::batches;
}

}  // namespace

Pipeline parse_pipeline(const ConfigNode& stages, const PipelineScope& scope) {
  const std::string wanted = "a list of stages, a source first";
  const std::vector<ConfigNode> entries = stages.items("pipeline", wanted);
  if (entries.empty()) throw stages.error("pipeline", "an empty list", wanted);
  const auto [name, argument] = named(entries[0], "source");
  const PipelineSource* source = find_row(pipeline_sources(), name);
  if (source == nullptr) {
    throw entries[0].error("source", "'" + name + "'",
                           expected_names(name, names_of(pipeline_sources())));
  }
  Pipeline pipeline = with_location(entries[0], [&, &name = name, &argument = argument] {
    return source->make(ConfigSection(name, argument, source->keys), scope);
  });
  for (size_t i = 1; i < entries.size(); ++i) add_stage(pipeline, entries[i], scope);
  return pipeline;
}

int64_t integer_or_autotune(const ConfigSection& argument, const std::string& key,
                            int64_t otherwise) {
  const ConfigNode node = argument.find(key);
  if (!node.present()) return otherwise;
  const char* const wanted = "an integer or AUTOTUNE";
  const std::string what = argument.what(key);
  if (node.is_scalar() && node.as<std::string>(what, wanted) == "AUTOTUNE") return AUTOTUNE;
  return node.as<int64_t>(what, wanted);
}

Pipeline parse_pipeline(const std::string& yaml, const std::string& file) {
  return parse_pipeline(ConfigNode::parse(yaml, file));
}

}  // namespace systole::app
