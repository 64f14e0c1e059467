#include "apps/systole/inspect/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "systole/base/counted.h"
#include "systole/runtime/memory.h"

namespace systole::app {
namespace {

using runtime::bytes_text;
using Rows = std::vector<std::vector<std::string>>;

std::string text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string count_text(const Json& number, std::string_view what) {
  return counted(number.get<int64_t>(), what);
}

// "[?,28,28]"
std::string shape_text(const Json& dims) {
  std::string result = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto size = dims[i].get<int64_t>();
    result += (i > 0 ? "," : "") + (size < 0 ? std::string("?") : std::to_string(size));
  }
  return result + "]";
}

// Columns under each other, two blanks before each line and between columns.
std::string table(const Rows& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string result;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format("  {:<{}}", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

// "12 Add, 3 Const": the most frequent first.
std::string ops_text(const Json& ops) {
  std::vector<std::pair<int64_t, std::string>> counts;
  for (const auto& [op, count] : ops.items()) counts.emplace_back(-count.get<int64_t>(), op);
  std::ranges::sort(counts);
  std::string result;
  for (const auto& [count, op] : counts) {
    result += fmt::format("{}{} {}", result.empty() ? "" : ", ", -count, op);
  }
  return result;
}

std::string checkpoint_text(const Json& checkpoint) {
  Rows rows;
  for (const Json& tensor : checkpoint["tensors"]) {
    const std::string size = tensor.contains("parts") ? count_text(tensor["parts"], "part")
                                                      : bytes_text(tensor["bytes"].get<double>());
    rows.push_back(
        {text(tensor["name"]), text(tensor["dtype"]), shape_text(tensor["shape"]), size});
  }
  const auto tensors = static_cast<int64_t>(checkpoint["tensors"].size());
  std::string result = fmt::format("{}, {}, {} in {}\n", counted(tensors, "tensor"),
                                   count_text(checkpoint["elements"], "element"),
                                   bytes_text(checkpoint["bytes"].get<double>()),
                                   count_text(checkpoint["shards"], "shard"));
  result += table(rows);
  if (!checkpoint.contains("extras")) return result;
  Rows extras;
  for (const Json& extra : checkpoint["extras"]) {
    extras.push_back({text(extra["name"]), bytes_text(extra["bytes"].get<double>())});
  }
  return result + "state for resuming the training (.systole)\n" + table(extras);
}

std::string graph_text(const Json& graph) {
  return fmt::format("graph: {}, {}, producer {}\n  {}\n", count_text(graph["nodes"], "node"),
                     count_text(graph["functions"], "function"), graph["producer"].get<int>(),
                     ops_text(graph["ops"]));
}

std::string saved_model_text(const Json& model) {
  std::string result;
  for (const Json& graph : model["meta_graphs"]) {
    const std::string version = text(graph["tensorflow_version"]);
    result += fmt::format("tags: {}, written by {}\n", graph["tags"].dump(),
                          text(graph["writer"]) == "systole"
                              ? fmt::format("Systole for TensorFlow {}", version)
                              : fmt::format("TensorFlow {}", version));
    for (const auto& [name, signature] : graph["signatures"].items()) {
      result += fmt::format("signature {} ({})\n", name, text(signature["method"]));
      Rows rows;
      for (const char* side : {"inputs", "outputs"}) {
        for (const auto& [key, tensor] : signature[side].items()) {
          rows.push_back({side == std::string_view("inputs") ? "takes" : "gives", key,
                          text(tensor["dtype"]),
                          tensor.contains("shape") ? shape_text(tensor["shape"]) : "of any shape",
                          text(tensor["name"])});
        }
      }
      result += table(rows);
    }
    if (!graph["assets"].empty()) result += fmt::format("assets: {}\n", graph["assets"].dump());
    result += graph_text(graph["graph"]);
  }
  if (model.contains("variables")) result += "variables: " + checkpoint_text(model["variables"]);
  return result;
}

std::string events_text(const Json& events) {
  std::string kinds;
  for (const auto& [kind, count] : events["kinds"].items()) {
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count.get<int64_t>(), kind);
  }
  Rows rows;
  for (const Json& tag : events["tags"]) {
    std::string values;
    if (tag.contains("first"))
      values = fmt::format("{} -> {}", text(tag["first"]), text(tag["last"]));
    rows.push_back({text(tag["tag"]), text(tag["kind"]), count_text(tag["count"], "value"),
                    fmt::format("steps {} to {}", tag["first_step"].get<int64_t>(),
                                tag["last_step"].get<int64_t>()),
                    values});
  }
  const auto files = events["files"].get<int64_t>();
  return fmt::format("{}{}: {}\n", count_text(events["events"], "event"),
                     files == 1 ? "" : fmt::format(" in {} files", files), kinds) +
         table(rows);
}

std::string records_text(const Json& records) {
  std::string result =
      fmt::format("{}, {}, compression {}\n", count_text(records["records"], "record"),
                  bytes_text(records["bytes"].get<double>()), text(records["compression"]));
  if (!records.contains("features")) return result;
  Rows rows;
  for (const Json& feature : records["features"]) {
    const auto least = feature["least_values"].get<int64_t>();
    const auto most = feature["most_values"].get<int64_t>();
    rows.push_back(
        {text(feature["name"]), text(feature["kind"]),
         least == most ? counted(least, "value") : fmt::format("{} to {} values", least, most),
         "in " + count_text(feature["records"], "record")});
  }
  return result + table(rows);
}

std::string hlo_text(const Json& description) {
  std::string result;
  for (const Json& module : description["modules"]) {
    result += fmt::format("module {}\n", text(module["name"]));
    for (const Json& function : module["functions"]) {
      std::string parameters;
      for (const Json& type : function["parameters"]) {
        parameters += (parameters.empty() ? "" : ", ") + text(type);
      }
      result += fmt::format("  {}({})\n    {}\n", text(function["name"]), parameters,
                            ops_text(function["ops"]));
    }
  }
  return result;
}

std::string state_text(const Json& state) {
  std::string result = fmt::format("latest: {}\n", text(state["latest"]));
  for (const Json& path : state["all"]) result += fmt::format("  {}\n", text(path));
  return result;
}

}  // namespace

std::string readable(const Json& description) {
  const std::string kind = text(description["kind"]);
  const std::string head = fmt::format("{}: {}\n", text(description["path"]), kind);
  if (description.contains("meta_graphs")) return head + saved_model_text(description);
  if (description.contains("tensors")) return head + checkpoint_text(description);
  if (description.contains("graph")) return head + graph_text(description["graph"]);
  if (description.contains("latest")) return head + state_text(description);
  if (description.contains("events")) return head + events_text(description);
  if (description.contains("records")) return head + records_text(description);
  if (description.contains("modules")) return head + hlo_text(description);
  return head + fmt::format("{}{}\n", text(description["dtype"]), shape_text(description["shape"]));
}

}  // namespace systole::app
