#include "systole/train/meta_graph.h"

#include <algorithm>

#include "systole/io/proto/meta_graph.pb.h"
#include "systole/io/wire/message.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/train/saver_nodes.h"

namespace systole {

void add_variable_collections(const Graph& graph, const std::vector<Variable>& variables,
                              tensorflow::MetaGraphDef& message) {
  const auto trainable = graph.collection<Variable>(graph_keys::trainable_variables);
  for (const Variable& variable : variables) {
    tensorflow::VariableDef def;
    def.set_variable_name(variable.name() + ":0");
    def.set_initializer_name(variable.initializer().name());
    def.set_snapshot_name(variable.value().name());
    def.set_initial_value_name(variable.initial_value().name());
    def.set_is_resource(true);
    const bool trains = std::ranges::find(trainable, variable) != trainable.end();
    def.set_trainable(trains);
    auto& collections = *message.mutable_collection_def();
    const std::string bytes = serialize_message(def);
    collections["variables"].mutable_bytes_list()->add_value(bytes);
    if (trains) collections["trainable_variables"].mutable_bytes_list()->add_value(bytes);
  }
}

void set_writer(tensorflow::MetaGraphDef& message) {
  message.mutable_meta_info_def()->set_tensorflow_version(kTensorFlowVersion);
  message.mutable_meta_info_def()->set_tensorflow_git_version(kWriter);
}

std::string meta_graph_bytes(const Graph& graph, const std::vector<Variable>& variables) {
  tensorflow::MetaGraphDef message;
  set_writer(message);
  message.mutable_graph_def()->Swap(to_graph_def(graph).get());
  add_saver_nodes(variables, message);
  add_variable_collections(graph, variables, message);
  return serialize_message(message);
}

}  // namespace systole
