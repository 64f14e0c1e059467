#include "apps/systole/inspect/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace systole::app {
namespace {

// In pixels.
constexpr double kPanelWidth = 460;
constexpr double kPanelHeight = 270;
constexpr double kLeft = 62;
constexpr double kRight = 14;
constexpr double kTop = 46;
constexpr double kBottom = 34;
constexpr double kTitleHeight = 34;
constexpr size_t kColumns = 2;
// Curves of fewer points show them; those of more are thinned out to two a pixel.
constexpr size_t kMostDots = 30;
constexpr double kPlotWidth = kPanelWidth - kLeft - kRight;
constexpr double kPlotHeight = kPanelHeight - kTop - kBottom;

// Okabe and Ito's colours, which people who see few colours can tell apart.
constexpr std::array<const char*, 7> kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#e69f00", "#56b4e9", "#000000"};

std::string xml_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      default:
        result += static_cast<unsigned char>(c) < ' ' ? '?' : c;  // XML has no such characters
    }
  }
  return result;
}

struct AxisRange {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  // Some room, also where all values are equal or there are none.
  AxisRange widened(double share) const {
    if (least > most) return {0, 1};
    const double size = most - least;
    const double room = size > 0 ? size * share : std::max(std::abs(most) * 0.1, 1e-3);
    return {least - room, most + room};
  }
};

// The curves of one tag and where the panel has them.
struct Panel {
  std::vector<const Curve*> curves;
  double x = 0;
  double y = 0;
  AxisRange steps;
  AxisRange values;

  double at_step(double step) const {
    return x + kLeft + (step - steps.least) / (steps.most - steps.least) * kPlotWidth;
  }
  double at_value(double value) const {
    return y + kTop + (values.most - value) / (values.most - values.least) * kPlotHeight;
  }
};

// One for all panels, so that what stands below each other happened together.
AxisRange steps_of(const std::vector<Curve>& curves) {
  AxisRange steps;
  for (const Curve& curve : curves) {
    for (const auto& [step, value] : curve.points) steps.add(static_cast<double>(step));
  }
  return steps.most > steps.least ? steps : steps.widened(0);
}

AxisRange values_of(const Panel& panel) {
  AxisRange values;
  for (const Curve* curve : panel.curves) {
    for (const auto& [step, value] : curve->points) {
      if (std::isfinite(value)) values.add(value);
    }
  }
  return values.widened(0.05);
}

std::string panel_label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)"
                     "\n",
                     x, y, anchor, xml_text(text));
}

std::string panel_grid(const Panel& panel) {
  const double left = panel.x + kLeft;
  const double bottom = panel.y + kTop + kPlotHeight;
  std::string svg;
  for (const double value : axis_ticks(panel.values.least, panel.values.most)) {
    const double y = panel.at_value(value);
    svg += fmt::format(R"(<path class="grid" d="M{:.1f} {:.1f}h{:.1f}"/>)"
                       "\n",
                       left, y, kPlotWidth);
    svg += panel_label(left - 6, y + 4, "end", fmt::format("{:.6g}", value));
  }
  for (const double step : axis_ticks(panel.steps.least, panel.steps.most)) {
    if (step != std::floor(step)) continue;
    svg += panel_label(panel.at_step(step), bottom + 16, "middle", fmt::format("{:.12g}", step));
  }
  return svg + fmt::format(R"(<path class="axis" d="M{:.1f} {:.1f}h{:.1f}"/>)"
                           "\n",
                           left, bottom, kPlotWidth);
}

// Of as many runs of points as there are pixels the least and the greatest value, in their order.
// What is no finite number leaves a gap only where a curve is not thinned out.
std::vector<std::pair<int64_t, float>> thinned_points(const Curve& curve) {
  std::vector<std::pair<int64_t, float>> all(curve.points.begin(), curve.points.end());
  const auto pixels = static_cast<size_t>(kPlotWidth);
  if (all.size() <= 2 * pixels) return all;
  std::erase_if(all, [](const auto& point) { return !std::isfinite(point.second); });
  std::vector<std::pair<int64_t, float>> result;
  for (size_t pixel = 0; pixel < pixels; ++pixel) {
    const auto begin = all.begin() + static_cast<int64_t>(pixel * all.size() / pixels);
    const auto end = all.begin() + static_cast<int64_t>((pixel + 1) * all.size() / pixels);
    const auto [least, most] = std::minmax_element(
        begin, end, [](const auto& a, const auto& b) { return a.second < b.second; });
    result.push_back(*std::min(least, most));
    if (least != most) result.push_back(*std::max(least, most));
  }
  return result;
}

std::string panel_line(const Panel& panel, const Curve& curve, const char* color) {
  std::string path;
  std::string dots;
  bool drawing = false;
  for (const auto& [step, value] : thinned_points(curve)) {
    if (!std::isfinite(value)) {
      drawing = false;
      continue;
    }
    const double x = panel.at_step(static_cast<double>(step));
    const double y = panel.at_value(value);
    path += fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", x, y);
    drawing = true;
    if (curve.points.size() > kMostDots) continue;
    dots += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="2.5" fill="{}"/>)"
                        "\n",
                        x, y, color);
  }
  return fmt::format(R"(<path class="line" stroke="{}" d="{}"/>)"
                     "\n{}",
                     color, path, dots);
}

// The runs with their last values, below the panel's title.
std::string panel_legend(const Panel& panel, const std::vector<const char*>& colors) {
  std::string svg = fmt::format(R"(<text x="{:.1f}" y="{:.1f}">)", panel.x + kLeft, panel.y + 36);
  for (size_t i = 0; i < panel.curves.size(); ++i) {
    const Curve& curve = *panel.curves[i];
    svg += fmt::format(R"(<tspan fill="{}" dx="{}">{} {:.5g}</tspan>)", colors[i], i == 0 ? 0 : 14,
                       xml_text(curve.run), curve.points.rbegin()->second);
  }
  return svg + "</text>\n";
}

std::string panel_svg(const Panel& panel, const std::map<std::string, const char*>& colors) {
  std::string svg = fmt::format(R"(<text class="tag" x="{:.1f}" y="{:.1f}">{}</text>)"
                                "\n",
                                panel.x + kLeft, panel.y + 18, xml_text(panel.curves[0]->tag));
  std::vector<const char*> of_curves;
  std::string lines;
  for (const Curve* curve : panel.curves) {
    of_curves.push_back(colors.at(curve->run));
    lines += panel_line(panel, *curve, of_curves.back());
  }
  return svg + panel_legend(panel, of_curves) + panel_grid(panel) + lines;
}

std::vector<Panel> panels_of(const std::vector<Curve>& curves) {
  std::vector<Panel> panels;
  for (const Curve& curve : curves) {
    if (curve.points.empty()) continue;
    const auto same = std::ranges::find_if(
        panels, [&](const Panel& panel) { return panel.curves[0]->tag == curve.tag; });
    if (same != panels.end()) {
      same->curves.push_back(&curve);
    } else {
      panels.emplace_back().curves.push_back(&curve);
    }
  }
  const AxisRange steps = steps_of(curves);
  for (size_t i = 0; i < panels.size(); ++i) {
    panels[i].x = static_cast<double>(i % kColumns) * kPanelWidth;
    const size_t row = i / kColumns;
    panels[i].y = kTitleHeight + static_cast<double>(row) * kPanelHeight;
    panels[i].steps = steps;
    panels[i].values = values_of(panels[i]);
  }
  return panels;
}

}  // namespace

std::vector<double> axis_ticks(double least, double most) {
  if (!(most > least)) return {least};
  const double rough = (most - least) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  const double first = std::ceil(least / step);
  for (int i = 0; (first + i) * step <= most && i < 20; ++i) ticks.push_back((first + i) * step);
  return ticks;
}

std::string plot_svg(const std::string& title, const std::vector<Curve>& curves) {
  std::map<std::string, const char*> colors;
  for (const Curve& curve : curves) {
    colors.try_emplace(curve.run, kColors.at(colors.size() % kColors.size()));
  }
  const std::vector<Panel> panels = panels_of(curves);
  const size_t rows = (panels.size() + kColumns - 1) / kColumns;
  const double width = kPanelWidth * static_cast<double>(std::min(panels.size(), kColumns));
  const double height = kTitleHeight + static_cast<double>(rows) * kPanelHeight;
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}">
<style>
text {{ font: 11px sans-serif; fill: #444 }}
.title {{ font-size: 14px; font-weight: bold; fill: #000 }}
.tag {{ font-size: 13px; font-weight: bold; fill: #000 }}
.grid {{ stroke: #e4e4e4 }}
.axis {{ stroke: #888 }}
.line {{ fill: none; stroke-width: 1.5; stroke-linejoin: round }}
</style>
<rect width="100%" height="100%" fill="#fff"/>
<text class="title" x="{2}" y="24">{3}</text>
)",
      std::max(width, kPanelWidth), height, kLeft, xml_text(title));
  for (const Panel& panel : panels) svg += panel_svg(panel, colors);
  return svg + "</svg>\n";
}

}  // namespace systole::app
