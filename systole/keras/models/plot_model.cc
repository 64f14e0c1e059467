#include "systole/keras/models/plot_model.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "systole/base/error.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/local/local_file_system.h"

namespace systole::keras {
namespace {

// Escapes what has a meaning in the label of a record.
std::string dot_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\\"{}|<>").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string shapes_label(const std::vector<Shape>& shapes) {
  std::string text;
  for (const Shape& shape : shapes) text += (text.empty() ? "" : ", ") + sizes_text(shape);
  return shapes.size() > 1 ? "[" + text + "]" : text;
}

std::string label_of(const LayerCall& call, const PlotModelOptions& options) {
  const LayerDefinition& layer = *call.layer;
  std::string label = dot_escaped(layer.class_name());
  if (options.show_layer_names) label = dot_escaped(layer.name()) + ": " + label;
  if (!options.show_shapes) return label;
  std::vector<Shape> inputs;
  std::vector<Shape> outputs;
  for (const KerasTensor& input : call.inputs) inputs.push_back(input.shape());
  for (const TensorType& output : call.outputs) outputs.push_back(output.shape);
  if (inputs.empty()) inputs = outputs;  // an InputLayer
  return fmt::format("{}|{{input:|output:}}|{{{{{}}}|{{{}}}}}", label, shapes_label(inputs),
                     shapes_label(outputs));
}

std::string dot_of(const NetworkDefinition& network, const PlotModelOptions& options) {
  std::map<const LayerDefinition*, size_t> nodes;
  std::map<size_t, std::string> labels;
  std::set<std::pair<size_t, size_t>> edges;
  for (const auto& call : network.calls()) {
    const size_t node = nodes.emplace(call->layer.get(), nodes.size()).first->second;
    labels[node] = label_of(*call, options);
    for (const KerasTensor& input : call->inputs) {
      const auto from = nodes.find(input.call()->layer.get());
      if (from != nodes.end()) edges.emplace(from->second, node);
    }
  }
  std::string dot =
      fmt::format("digraph G {{\nrankdir={};\nnode [shape=record];\n", options.rankdir);
  for (const auto& [node, label] : labels) {
    dot += options.show_shapes ? fmt::format("{} [label=\"{{{}}}\"];\n", node, label)
                               : fmt::format("{} [label=\"{}\"];\n", node, label);
  }
  for (const auto& [from, to] : edges) dot += fmt::format("{} -> {};\n", from, to);
  return dot + "}\n";
}

// A file that lives as long as this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& contents)
      : path_((std::filesystem::temp_directory_path() / "systole_XXXXXX").string()) {
    const int file = ::mkstemp(path_.data());
    if (file < 0) throw make_error(Code::unavailable, "plot_model: cannot make a file '{}'", path_);
    ::close(file);
    write_file_atomically(local_file_system(), path_, contents);
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // The path in single quotes, for a shell.
  std::string quoted() const {
    std::string text = "'";
    for (const char c : path_) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
  }

 private:
  std::string path_;
};

// Returns what `dot -T<format>` prints for `dot`.
std::string drawn(const std::string& dot, const std::string& format) {
  const TemporaryFile file(dot);
  const std::string command = fmt::format("dot -T{} {} 2>/dev/null", format, file.quoted());
  const auto close = [](std::FILE* pipe) { return ::pclose(pipe); };
  std::unique_ptr<std::FILE, decltype(close)> pipe(::popen(command.c_str(), "r"), close);
  std::string picture;
  std::array<char, 4096> buffer{};
  while (pipe != nullptr) {
    const size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe.get());
    if (count == 0) break;
    picture.append(buffer.data(), count);
  }
  if (pipe == nullptr || ::pclose(pipe.release()) != 0 || picture.empty()) {
    throw failed_precondition(
        "plot_model: Graphviz's program `dot` failed or is not there, expected Debian's graphviz; "
        "to_file 'model.dot' needs no program");
  }
  return picture;
}

}  // namespace

std::string model_to_dot(const Model& model, const PlotModelOptions& options) {
  static constexpr std::array<std::string_view, 4> kDirections = {"TB", "BT", "LR", "RL"};
  if (std::ranges::find(kDirections, options.rankdir) == kDirections.end()) {
    throw invalid_argument("plot_model: rankdir, got '{}', expected TB, BT, LR or RL",
                           options.rankdir);
  }
  const auto* const network = dynamic_cast<const NetworkDefinition*>(model.definition().get());
  if (network == nullptr || network->outputs().size() == 0) {
    throw failed_precondition(
        "plot_model: model '{}' {}, expected a graph of layers", model.name(),
        network == nullptr ? "is a subclass" : "does not know the shape of its input");
  }
  return dot_of(*network, options);
}

void plot_model(const Model& model, const PlotModelOptions& options) {
  static constexpr std::array<std::string_view, 4> kFormats = {"dot", "png", "svg", "pdf"};
  const std::string format = options.to_file.substr(options.to_file.find_last_of('.') + 1);
  if (std::ranges::find(kFormats, format) == kFormats.end()) {
    throw invalid_argument(
        "plot_model: to_file, got '{}', expected a name that ends in .png, .svg, .pdf or .dot",
        options.to_file);
  }
  const std::string dot = model_to_dot(model, options);
  write_file_atomically(default_file_system(), options.to_file,
                        format == "dot" ? dot : drawn(dot, format));
}

}  // namespace systole::keras
