#include "systole/keras/models/plot_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "systole/base/error.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/keras/models/graph_layout.h"

namespace systole::keras {
namespace {

constexpr double kCharWidth = 7.3;  // of a 12 px monospace font
constexpr double kLineHeight = 16;
constexpr double kPad = 8;

struct PlotBox {
  std::vector<std::string> lines;
};

std::string xml_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string shapes_text(const std::vector<Shape>& shapes) {
  std::string text;
  for (const Shape& shape : shapes) text += (text.empty() ? "" : ", ") + sizes_text(shape);
  return shapes.size() > 1 ? "[" + text + "]" : text;
}

// The graph of layers: a box a layer, an edge for each pair of which one reads the other.
struct LayerGraph {
  std::vector<PlotBox> boxes;
  std::set<std::pair<size_t, size_t>> edges;
};

PlotBox box_of(const LayerCall& call, const PlotModelOptions& options) {
  const LayerDefinition& layer = *call.layer;
  PlotBox box;
  box.lines.push_back(options.show_layer_names
                          ? fmt::format("{}: {}", layer.name(), layer.class_name())
                          : layer.class_name());
  if (!options.show_shapes) return box;
  std::vector<Shape> inputs;
  std::vector<Shape> outputs;
  for (const KerasTensor& input : call.inputs) inputs.push_back(input.shape());
  for (const TensorType& output : call.outputs) outputs.push_back(output.shape);
  if (inputs.empty()) inputs = outputs;  // an InputLayer
  box.lines.push_back("input:  " + shapes_text(inputs));
  box.lines.push_back("output: " + shapes_text(outputs));
  return box;
}

// Puts layers before those that read them: `readers` by layer. An edge that would close a circle
// (two calls of a shared layer, the second on what came of the first) is left out.
std::vector<size_t> order_of_layers(std::vector<std::vector<size_t>>& readers) {
  enum class State : uint8_t { fresh, open, done };
  std::vector<State> states(readers.size(), State::fresh);
  std::vector<size_t> order;
  for (size_t root = 0; root < readers.size(); ++root) {
    std::vector<std::pair<size_t, size_t>> stack;  // a layer, the next of its readers
    if (states[root] == State::fresh) stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [layer, next] = stack.back();
      states[layer] = State::open;
      if (next == readers[layer].size()) {
        states[layer] = State::done;
        order.push_back(layer);
        stack.pop_back();
        continue;
      }
      const size_t reader = readers[layer][next];
      if (states[reader] == State::open) {
        readers[layer].erase(readers[layer].begin() + static_cast<std::ptrdiff_t>(next));
        continue;
      }
      ++next;
      if (states[reader] == State::fresh) stack.emplace_back(reader, 0);
    }
  }
  std::ranges::reverse(order);
  return order;
}

LayerGraph graph_of(const NetworkDefinition& network, const PlotModelOptions& options) {
  std::map<const LayerDefinition*, size_t> index;
  std::vector<const LayerCall*> last;  // by layer
  std::vector<std::vector<size_t>> readers;
  for (const auto& call : network.calls()) {
    const auto [it, added] = index.emplace(call->layer.get(), last.size());
    if (added) {
      last.emplace_back();
      readers.emplace_back();
    }
    last[it->second] = call.get();
    for (const KerasTensor& input : call->inputs) {
      const auto from = index.find(input.call()->layer.get());
      if (from == index.end() || from->second == it->second) continue;
      std::vector<size_t>& of_input = readers[from->second];
      if (std::ranges::find(of_input, it->second) == of_input.end()) of_input.push_back(it->second);
    }
  }
  LayerGraph graph;
  std::vector<size_t> place(last.size());
  for (const size_t layer : order_of_layers(readers)) {
    place[layer] = graph.boxes.size();
    graph.boxes.push_back(box_of(*last[layer], options));
  }
  for (size_t from = 0; from < readers.size(); ++from) {
    for (const size_t to : readers[from]) graph.edges.emplace(place[from], place[to]);
  }
  return graph;
}

std::string box_svg(const LayoutBox& place, const PlotBox& box) {
  const double left = place.centre.x - place.width / 2;
  const double top = place.centre.y - place.height / 2;
  std::string svg = fmt::format(
      "  <rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"3\"/>\n", left,
      top, place.width, place.height);
  for (size_t i = 0; i < box.lines.size(); ++i) {
    svg += fmt::format("  <text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left + kPad,
                       top + kPad + kLineHeight * (static_cast<double>(i) + 0.75),
                       xml_text(box.lines[i]));
  }
  return svg;
}

// Straight through rows, curved between them.
std::string edge_svg(const LayoutEdge& edge) {
  std::string way = fmt::format("M{:.1f} {:.1f}", edge.way[0].x, edge.way[0].y);
  for (size_t i = 1; i < edge.way.size(); ++i) {
    const LayoutPoint& a = edge.way[i - 1];
    const LayoutPoint& b = edge.way[i];
    if (a.x == b.x) {
      way += fmt::format(" L{:.1f} {:.1f}", b.x, b.y);
      continue;
    }
    const double middle = (a.y + b.y) / 2;
    way += fmt::format(" C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", a.x, middle, b.x, middle, b.x,
                       b.y);
  }
  return fmt::format("  <path d=\"{}\" marker-end=\"url(#arrow)\"/>\n", way);
}

}  // namespace

std::string model_svg(const Model& model, const PlotModelOptions& options) {
  const auto* const network = dynamic_cast<const NetworkDefinition*>(model.definition().get());
  if (network == nullptr || network->outputs().size() == 0) {
    throw failed_precondition(
        "plot_model: model '{}' {}, expected a graph of layers", model.name(),
        network == nullptr ? "is a subclass" : "does not know the shape of its input");
  }
  const LayerGraph graph = graph_of(*network, options);
  std::vector<LayoutBox> boxes;
  for (const PlotBox& box : graph.boxes) {
    size_t longest = 0;
    for (const std::string& line : box.lines) longest = std::max(longest, line.size());
    boxes.push_back({.width = static_cast<double>(longest) * kCharWidth + 2 * kPad,
                     .height = static_cast<double>(box.lines.size()) * kLineHeight + 2 * kPad});
  }
  std::vector<LayoutEdge> edges;
  for (const auto& [from, to] : graph.edges) edges.push_back({.from = from, .to = to});
  const LayoutSize size = lay_out(boxes, edges);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n"
      "  <title>{2}</title>\n"
      "  <style>rect{{fill:#fff;stroke:#333}}path{{fill:none;stroke:#333}}"
      "text{{font:12px monospace;white-space:pre;fill:#111}}</style>\n"
      "  <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" "
      "markerHeight=\"8\" orient=\"auto\"><polygon points=\"0,0 8,4 0,8\"/></marker></defs>\n"
      "  <rect width=\"100%\" height=\"100%\" style=\"stroke:none\"/>\n",
      size.width, size.height, xml_text(model.name()));
  for (const LayoutEdge& edge : edges) svg += edge_svg(edge);
  for (size_t i = 0; i < boxes.size(); ++i) svg += box_svg(boxes[i], graph.boxes[i]);
  return svg + "</svg>\n";
}

void plot_model(const Model& model, const PlotModelOptions& options) {
  if (!options.to_file.ends_with(".svg")) {
    throw invalid_argument("plot_model: to_file, got '{}', expected a name that ends in .svg",
                           options.to_file);
  }
  write_file_atomically(default_file_system(), options.to_file, model_svg(model, options));
}

}  // namespace systole::keras
