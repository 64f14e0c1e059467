#include "systole/keras/layers/edges.h"

#include <algorithm>

#include "systole/base/error.h"

namespace systole::keras {
namespace layers {

void normalize_edges(std::string_view layer, std::string_view argument, Edges& edges, int rank) {
  const Edges given = edges;
  const auto count = static_cast<size_t>(rank);
  std::vector<Edge>& axes = edges.axes;
  if (axes.size() == 1 && !axes[0].is_pair) axes.resize(count, Edge(axes[0].low));
  if (rank == 1 && axes.size() == 2 && !axes[0].is_pair && !axes[1].is_pair) {
    axes.assign(1, Edge(axes[0].low, axes[1].low));
  }
  const bool none_below_0 =
      std::ranges::all_of(axes, [](const Edge& edge) { return edge.low >= 0 && edge.high >= 0; });
  if (axes.size() == count && none_below_0) {
    for (Edge& edge : axes) edge.is_pair = true;
    return;
  }
  throw invalid_argument("{}: {}, got {}, expected one number, {} or {} pairs, 0 or more", layer,
                         argument, edges_text(given),
                         rank == 1 ? "two numbers" : "a number an axis", rank);
}

std::string edges_text(const Edges& edges) {
  std::string text = "(";
  for (const Edge& edge : edges.axes) {
    if (text.size() > 1) text += ", ";
    text += edge.is_pair ? fmt::format("({}, {})", edge.low, edge.high) : std::to_string(edge.low);
  }
  return text + ")";
}

void normalize_image_format(std::string_view layer, std::optional<std::string>& data_format,
                            int rank) {
  normalize_data_format(layer, data_format);
  if (rank > 1 || *data_format == "channels_last") return;
  throw invalid_argument(
      "{}: data_format, got '{}', expected none: the layer takes [batch, steps, channels]", layer,
      *data_format);
}

}  // namespace layers

Json JsonType<layers::Edges>::to_json(const layers::Edges& edges) {
  Json list = Json::array();
  for (const layers::Edge& edge : edges.axes) list.push_back(Json::array({edge.low, edge.high}));
  return list.size() == 1 ? Json(list[0]) : list;
}

layers::Edges JsonType<layers::Edges>::from_json(const Json& json) {
  if (json.is_number()) return {JsonType<int64_t>::from_json(json)};
  if (!json.is_array()) throw wrong_json(json, name);
  std::vector<layers::Edge> axes;
  for (const Json& axis : json) {
    const std::vector<int64_t> ends = JsonType<std::vector<int64_t>>::from_json(axis);
    if (axis.is_number()) {
      axes.emplace_back(ends[0]);
    } else if (ends.size() == 2) {
      axes.emplace_back(ends[0], ends[1]);
    } else {
      throw wrong_json(json, name);
    }
  }
  return layers::Edges(std::move(axes));
}

}  // namespace systole::keras
