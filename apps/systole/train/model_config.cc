// The sections model, loss, optimizer and metrics, as a model_fn.
#include "apps/systole/config/with_location.h"
#include "apps/systole/train/layer_stack.h"
#include "apps/systole/train/model_tables.h"
#include "apps/systole/train/training_config.h"
#include "systole/graph/core/where_scope.h"
#include "systole/train/cross_shard_optimizer.h"
#include "systole/train/losses/losses.h"

namespace systole::app {
namespace {

constexpr ConfigKey kModelKeys[] = {
    {"layers", "list", "required", "Layers of Keras, one after the other; see below."},
    {"feature", "text", "", "Feature for the first layer; needed if there are several."}};

// The parsed parts of a model. Immutable after parsing.
struct ModelParts {
  std::string feature;
  ConfigNode features_node;
  std::vector<LayerConfig> layers;
  ConfigNode loss_node;
  Loss loss;
  ConfigNode optimizer_node;
  OptimizerMaker optimizer;
  std::vector<std::pair<ConfigNode, NamedMetric>> metrics;
};

Output input_of(const Nest<Output>& features, const ModelParts& parts) {
  if (features.is_leaf()) return features.leaf();
  if (!parts.feature.empty() && features.find(parts.feature) != nullptr) {
    return features[parts.feature];
  }
  if (parts.feature.empty() && features.size() == 1) return features[0];
  throw parts.features_node.error("model feature",
                                  parts.feature.empty() ? "none" : "'" + parts.feature + "'",
                                  expected_names(parts.feature, features.names()));
}

Nest<Output> predictions_of(const HeadOutputs& outputs) {
  if (outputs.head == Head::regression) {
    return Nest<Output>::dict({{"predictions", outputs.output}});
  }
  std::vector<Nest<Output>::Entry> entries = {{"classes", outputs.classes},
                                              {"probabilities", outputs.probabilities}};
  if (outputs.head != Head::probability) entries.emplace_back("logits", outputs.output);
  return Nest<Output>::dict(std::move(entries));
}

MetricMap metrics_of(const ModelParts& parts, const Output& labels, const HeadOutputs& outputs) {
  MetricMap result;
  for (const auto& [node, metric] : parts.metrics) {
    result[metric.name] =
        with_location(node, [&, &metric = metric] { return metric.build(labels, outputs); });
  }
  return result;
}

TPUEstimatorSpec build(const ModelParts& parts, const Nest<Output>& features,
                       const Nest<Output>& labels, Mode mode, const Params& params) {
  const int64_t replicas =
      params.contains("context") ? params["context"].as<TPUContext>().num_replicas() : 1;
  LayerStack layers(parts.layers, mode == Mode::train, replicas);
  const Output x = layers(input_of(features, parts));
  const WhereScope where(parts.loss_node.where());
  const HeadOutputs outputs = head_outputs(parts.loss.head, x);
  TPUEstimatorSpec spec{.mode = mode, .predictions = predictions_of(outputs)};
  if (mode == Mode::predict) return spec;
  if (!labels.is_leaf()) {
    throw parts.loss_node.error("loss", "no labels", "data labels: the name of a feature");
  }
  with_location(parts.loss_node, [&] { return parts.loss.build(labels.leaf(), x); });
  spec.loss = losses::get_total_loss();
  if (mode == Mode::eval) {
    spec.eval_metric_ops = metrics_of(parts, labels.leaf(), outputs);
  } else {
    spec.train_op = with_location(parts.optimizer_node, [&] {
      return layers.with_constraints(CrossShardOptimizer(parts.optimizer())
                                         .minimize(spec.loss, {.global_step = get_global_step()}));
    });
  }
  return spec;
}

void add_metrics(const ConfigNode& node, ModelParts& parts) {
  if (!node.present() || node.is_null()) return;
  for (const ConfigNode& item : node.items("metrics", "a list of metrics")) {
    const auto metric = make_named(item, "metric", metric_table());
    if (metric.needs_classes && parts.loss.head == Head::regression) {
      throw item.error("metric", "'" + metric.name + "' with a loss of numbers",
                       "a loss of classes, or a metric of numbers such as mean_squared_error");
    }
    for (const auto& [other_node, other] : parts.metrics) {
      if (other.name == metric.name) {
        throw item.error("metric", "'" + metric.name + "' twice", "each once, or a name");
      }
    }
    parts.metrics.emplace_back(item, metric);
  }
}

}  // namespace

std::span<const ConfigKey> model_keys() { return kModelKeys; }

ModelFn parse_model(const ConfigNode& root) {
  const auto parts = std::make_shared<ModelParts>();
  const ConfigSection model("model", root["model"], kModelKeys);
  parts->feature = model.text("feature");
  parts->features_node = model.has("feature") ? model.find("feature") : root["model"];
  for (const ConfigNode& item :
       model.require("layers", "a list of layers").items("model layers", "a list of layers")) {
    parts->layers.push_back(parse_layer(item));
  }
  const auto required = [&](const char* name, const char* wanted) {
    if (!root[name].present()) throw root.error("config", std::string("no ") + name, wanted);
    return root[name];
  };
  parts->loss_node = required("loss", "a loss");
  parts->loss = make_named(parts->loss_node, "loss", loss_table());
  parts->optimizer_node = required("optimizer", "an optimizer");
  parts->optimizer = make_named(parts->optimizer_node, "optimizer", optimizer_table());
  add_metrics(root["metrics"], *parts);
  return [parts](const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                 const Params& params) { return build(*parts, features, labels, mode, params); };
}

}  // namespace systole::app
