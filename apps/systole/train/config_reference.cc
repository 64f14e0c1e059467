#include "apps/systole/train/config_reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/systole/data/pipeline_spec.h"
#include "apps/systole/train/model_tables.h"
#include "apps/systole/train/training_config.h"

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

std::string activations() {
  std::vector<std::string> names;
  for (const auto& [name, function] : activation_table()) names.emplace_back(name);
  return fmt::format("`{}`\n\n", fmt::join(names, "`, `"));
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
  text += section("Layers", things_table(layer_table()));
  text += section("Activations", activations());
  text += section("Initializers", things_table(initializer_table()));
  text += section("Regularizers", things_table(regularizer_table()));
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
