#include "apps/systole/inspect/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string_view>

namespace systole::app {
namespace {

// In pixels.
constexpr double kPanelWidth = 460;
constexpr double kLeft = 62;
constexpr double kRight = 14;
constexpr double kTop = 28;  // above the legend
constexpr double kBottom = 34;
constexpr double kTitleHeight = 34;
constexpr size_t kColumns = 2;
// Curves of fewer points show them; those of more are thinned out to two a pixel.
constexpr size_t kMaxDots = 30;
constexpr double kPlotWidth = kPanelWidth - kLeft - kRight;
constexpr double kPlotHeight = 190;
// The legend: its lines, what shows a run's line, the gap before the next run, a letter.
constexpr double kLegendLine = 16;
constexpr double kSample = 18;
constexpr double kLegendGap = 12;
constexpr double kLetter = 6.2;

// Okabe and Ito's colours, which people who see few colours can tell apart.
constexpr std::array<const char*, 7> kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#e69f00", "#56b4e9", "#000000"};
// Runs beyond as many as there are colours have broken lines.
constexpr std::array<const char*, 4> kDashes = {"none", "7 3", "2 2", "9 3 2 3"};

struct LineStyle {
  const char* color;
  const char* dashes;
};

LineStyle line_style(size_t number) {
  return {kColors.at(number % kColors.size()),
          kDashes.at(number / kColors.size() % kDashes.size())};
}

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
  double top = 0;  // of the plot, below y
  AxisRange steps;
  AxisRange values;

  // The lower end of the labels below the plot.
  double bottom() const { return y + top + kPlotHeight + kBottom; }
  double at_step(double step) const {
    return x + kLeft + (step - steps.least) / (steps.most - steps.least) * kPlotWidth;
  }
  double at_value(double value) const {
    return y + top + (values.most - value) / (values.most - values.least) * kPlotHeight;
  }
};

// What the steps of a tag count: Keras has curves of epochs and of batches in one file.
std::string_view counted_by(std::string_view tag) {
  for (const std::string_view unit : {"epoch_", "batch_"}) {
    if (tag.starts_with(unit)) return unit;
  }
  return "";
}

// One for all panels that count the same, so that what stands below each other happened together.
AxisRange steps_of(const std::vector<Curve>& curves, std::string_view unit) {
  AxisRange steps;
  for (const Curve& curve : curves) {
    if (counted_by(curve.tag) != unit) continue;
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
  const double bottom = panel.y + panel.top + kPlotHeight;
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

std::string styled_line(const LineStyle& style, const std::string& path) {
  return fmt::format(R"(<path class="line" stroke="{}" stroke-dasharray="{}" d="{}"/>)"
                     "\n",
                     style.color, style.dashes, path);
}

// Returns the least and the greatest point of each pixel's width, in their order. What is no finite
// number leaves a gap only where a curve is not thinned out.
std::vector<std::pair<int64_t, float>> thinned_points(const Panel& panel, const Curve& curve) {
  std::vector<std::pair<int64_t, float>> all(curve.points.begin(), curve.points.end());
  if (all.size() <= 2 * static_cast<size_t>(kPlotWidth)) return all;
  std::erase_if(all, [](const auto& point) { return !std::isfinite(point.second); });
  const auto pixel_of = [&](const auto& point) {
    return std::floor(panel.at_step(static_cast<double>(point.first)));
  };
  std::vector<std::pair<int64_t, float>> result;
  for (auto begin = all.begin(); begin != all.end();) {
    const double pixel = pixel_of(*begin);
    const auto end =
        std::find_if(begin, all.end(), [&](const auto& point) { return pixel_of(point) != pixel; });
    const auto [least, most] = std::minmax_element(
        begin, end, [](const auto& a, const auto& b) { return a.second < b.second; });
    result.push_back(*std::min(least, most));
    if (least != most) result.push_back(*std::max(least, most));
    begin = end;
  }
  return result;
}

std::string panel_line(const Panel& panel, const Curve& curve, const LineStyle& style) {
  std::string path;
  std::string dots;
  bool drawing = false;
  for (const auto& [step, value] : thinned_points(panel, curve)) {
    if (!std::isfinite(value)) {
      drawing = false;
      continue;
    }
    const double x = panel.at_step(static_cast<double>(step));
    const double y = panel.at_value(value);
    path += fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", x, y);
    drawing = true;
    if (curve.points.size() > kMaxDots) continue;
    dots += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="2.5" fill="{}"/>)"
                        "\n",
                        x, y, style.color);
  }
  return styled_line(style, path) + dots;
}

// Where a run stands in the legend, from the plot's left and the first line on.
struct LegendPlace {
  double x;
  int line;
};

std::string legend_text(const Curve& curve) {
  return fmt::format("{} {:.5g}", curve.run, curve.points.rbegin()->second);
}

// As many runs on a line as there is room for.
std::vector<LegendPlace> legend_places(const Panel& panel) {
  std::vector<LegendPlace> places;
  LegendPlace next{0, 0};
  for (const Curve* curve : panel.curves) {
    const auto letters = static_cast<double>(legend_text(*curve).size());
    const double width = kSample + kLetter * letters;
    if (next.x > 0 && next.x + width > kPlotWidth) next = {0, next.line + 1};
    places.push_back(next);
    next.x += width + kLegendGap;
  }
  return places;
}

// The runs with their last values, below the panel's title.
std::string panel_legend(const Panel& panel, const std::vector<LineStyle>& styles) {
  std::string svg;
  const std::vector<LegendPlace> places = legend_places(panel);
  for (size_t i = 0; i < panel.curves.size(); ++i) {
    const double x = panel.x + kLeft + places[i].x;
    const double y = panel.y + kTop + kLegendLine * places[i].line + 8;
    svg += styled_line(styles[i], fmt::format("M{:.1f} {:.1f}h{:.1f}", x, y - 4, kSample - 5));
    svg += panel_label(x + kSample, y, "start", legend_text(*panel.curves[i]));
  }
  return svg;
}

std::string panel_svg(const Panel& panel, const std::map<std::string, LineStyle>& styles) {
  std::string svg = fmt::format(R"(<text class="tag" x="{:.1f}" y="{:.1f}">{}</text>)"
                                "\n",
                                panel.x + kLeft, panel.y + 18, xml_text(panel.curves[0]->tag));
  std::vector<LineStyle> of_curves;
  std::string lines;
  for (const Curve* curve : panel.curves) {
    of_curves.push_back(styles.at(curve->run));
    lines += panel_line(panel, *curve, of_curves.back());
  }
  return svg + panel_legend(panel, of_curves) + panel_grid(panel) + lines;
}

// The plots of a row of panels begin at one height, below the longest legend.
void place_row(std::span<Panel> row, double y) {
  int lines = 0;
  for (const Panel& panel : row) lines = std::max(lines, legend_places(panel).back().line + 1);
  for (size_t i = 0; i < row.size(); ++i) {
    row[i].x = static_cast<double>(i) * kPanelWidth;
    row[i].y = y;
    row[i].top = kTop + kLegendLine * lines + 2;
  }
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
  for (Panel& panel : panels) {
    panel.steps = steps_of(curves, counted_by(panel.curves[0]->tag));
    panel.values = values_of(panel);
  }
  double y = kTitleHeight;
  for (size_t i = 0; i < panels.size(); i += kColumns) {
    place_row(std::span(panels).subspan(i, std::min(kColumns, panels.size() - i)), y);
    y = panels[i].bottom();
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
  std::map<std::string, LineStyle> styles;
  for (const Curve& curve : curves) styles.try_emplace(curve.run, line_style(styles.size()));
  const std::vector<Panel> panels = panels_of(curves);
  const double width = kPanelWidth * static_cast<double>(std::min(panels.size(), kColumns));
  const double height = panels.empty() ? kTitleHeight : panels.back().bottom();
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
  for (const Panel& panel : panels) svg += panel_svg(panel, styles);
  return svg + "</svg>\n";
}

}  // namespace systole::app
