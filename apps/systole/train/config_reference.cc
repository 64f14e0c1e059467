#include "apps/systole/train/config_reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/systole/data/pipeline_spec.h"
#include "apps/systole/train/model_tables.h"
#include "apps/systole/train/training_config.h"
#include "systole/keras/engine/layer_class.h"

namespace systole::app {
namespace {

std::string section(const char* title, const std::string& text) {
  return fmt::format("### {}\n\n{}", title, text);
}

std::string keys_table(std::span<const ConfigKey> keys) {
  std::string text = "| key | value | default | |\n|---|---|---|---|\n";
  for (const ConfigKey& key : keys) {
    text +=
        fmt::format("| `{}` | {} | {} | {} |\n", key.name, key.type, key.otherwise, key.meaning);
  }
  return text + "\n";
}

// One row for each thing, with its arguments: `units`: integer (required).
template <class Table>
std::string things_table(const Table& table) {
  std::string text = "| name | | arguments |\n|---|---|---|\n";
  for (const auto& row : table) {
    std::vector<std::string> arguments;
    for (const ConfigKey& key : row.keys) {
      const std::string otherwise =
          *key.otherwise == '\0' ? "" : fmt::format(" ({})", key.otherwise);
      arguments.push_back(
          fmt::format("`{}`: {}{}: {}", key.name, key.type, otherwise, key.meaning));
    }
    text +=
        fmt::format("| `{}` | {} | {} |\n", row.name, row.meaning, fmt::join(arguments, "<br>"));
  }
  return text + "\n";
}

std::string ops_table() {
  std::string text = "| name | argument | |\n|---|---|---|\n";
  for (const PipelineOp& op : pipeline_ops()) {
    const char* const argument = *op.argument == '\0' ? "none" : op.argument;
    text += fmt::format("| `{}` | {} | {} |\n", op.name, argument, op.meaning);
  }
  return text + "\n";
}

// A default as the file would have it.
std::string shown_default(const keras::Json& value) {
  if (value.is_null() || value == keras::Json("")) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("class_name")) {
    return value.at("class_name").get<std::string>();
  }
  return value.dump();
}

std::string shown_argument(const keras::ArgumentDoc& argument) {
  if (argument.required()) return fmt::format("`{}`: {}, required", argument.name, argument.type);
  const std::string otherwise = shown_default(argument.default_value);
  return otherwise.empty() ? fmt::format("`{}`: {}", argument.name, argument.type)
                           : fmt::format("`{}`: {} ({})", argument.name, argument.type, otherwise);
}

// One row for each class of Keras's registry.
std::string layers_table() {
  std::string text = "| name | arguments |\n|---|---|\n";
  for (const std::string& name : keras::layer_class_names()) {
    std::vector<std::string> arguments;
    for (const keras::ArgumentDoc& argument : keras::find_layer_class(name).arguments) {
      arguments.push_back(shown_argument(argument));
    }
    text += fmt::format("| `{}` | {} |\n", name, fmt::join(arguments, "<br>"));
  }
  std::vector<std::string> common;
  for (const keras::ArgumentDoc& argument : keras::common_argument_docs()) {
    common.push_back(shown_argument(argument));
  }
  return fmt::format("All layers also take {}.\n\n{}\n", fmt::join(common, " and "), text);
}

// One row for each class of initializers, regularizers or constraints.
template <class Spec>
std::string classes_table() {
  std::string text = "| name | | also | arguments |\n|---|---|---|---|\n";
  const auto code = [](const std::vector<std::string>& names) {
    return names.empty() ? std::string() : fmt::format("`{}`", fmt::join(names, "`, `"));
  };
  for (const keras::ClassDoc& known : keras::JsonType<Spec>::classes()) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", known.name, known.doc, code(known.aliases),
                        code(known.arguments.value_or(std::vector<std::string>())));
  }
  return text + "\n";
}

std::string activations() {
  return fmt::format("`{}`\n\n", fmt::join(keras::activation_names(), "`, `"));
}

}  // namespace

std::string config_reference() {
  std::string text;
  for (const ConfigPart& part : training_config_parts()) {
    text += section(*part.name == '\0' ? "The file" : part.name, keys_table(part.keys));
  }
  text += section("run_config", keys_table(run_config_keys()));
  text += section("run_config.tpu_config", keys_table(tpu_config_keys()));
  text += section("model", keys_table(model_keys()));
  text += section("Layers", layers_table());
  text += section("Activations", activations());
  text += section("Initializers", classes_table<keras::InitializerSpec>());
  text += section("Regularizers", classes_table<keras::RegularizerSpec>());
  text += section("Constraints", classes_table<keras::ConstraintSpec>());
  text += section("Losses", things_table(loss_table()));
  text += section("Metrics", things_table(metric_table()));
  text += section("Optimizers", things_table(optimizer_table()));
  text += section("Learning rate schedules", things_table(schedule_table()));
  text += section("Sources of a pipeline", things_table(pipeline_sources()));
  text += section("Stages of a pipeline", things_table(pipeline_stages()));
  text += section("Ops of a pipeline", ops_table());
  text.pop_back();
  return text;
}

}  // namespace systole::app
