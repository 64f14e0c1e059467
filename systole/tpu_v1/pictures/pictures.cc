#include "systole/tpu_v1/pictures/pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "systole/base/error.h"
#include "systole/tpu_v1/assembler/assembler.h"
#include "systole/tpu_v1/systolic/systolic_array.h"

namespace systole::tpu_v1 {
namespace {

constexpr double kLeft = 70;
constexpr double kBottom = 350;
constexpr double kWidth = 540;
constexpr double kHeight = 310;

std::string svg_begin(double width, double height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n",
      width, height);
}

std::string svg_text(double x, double y, std::string_view text, std::string_view anchor = "start") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     text);
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

// Logarithmic axes from 1 to 10^4 multiply-adds a byte and from 0.1 to 10^3 TOPS.
double x_of(double intensity) {
  return kLeft + kWidth * std::clamp(std::log10(intensity) / 4, 0.0, 1.0);
}
double y_of(double teraops) {
  return kBottom - kHeight * std::clamp((std::log10(teraops) + 1) / 4, 0.0, 1.0);
}

}  // namespace

std::string roofline_svg(std::span<const NamedCounters> programs, const MachineConfig& machine) {
  std::string out = svg_begin(640, 400);
  const double peak = machine.peak_ops() * 1e-12;
  const double slope = 2 * machine.weight_bandwidth * 1e-12;  // TOPS for a multiply-add a byte
  out += fmt::format(
      "<polyline fill=\"none\" stroke=\"black\" stroke-width=\"2\" points=\"{:.1f},{:.1f} "
      "{:.1f},{:.1f} {:.1f},{:.1f}\"/>\n",
      x_of(0.1 / slope > 1 ? 0.1 / slope : 1), y_of(std::max(slope, 0.1)), x_of(machine.ridge()),
      y_of(peak), x_of(1e4), y_of(peak));
  for (int decade = 0; decade <= 4; ++decade) {
    out += fmt::format(
        "<path fill=\"none\" stroke=\"#ddd\" d=\"M{:.1f},{:.1f}V{:.1f}M{:.1f},{:.1f}H{:.1f}\"/>\n",
        x_of(std::pow(10, decade)), kBottom, y_of(1e3), kLeft, y_of(std::pow(10, decade - 1)),
        x_of(1e4));
    out += svg_text(x_of(std::pow(10, decade)), kBottom + 18,
                    fmt::format("{:.0f}", std::pow(10, decade)), "middle");
    out += svg_text(kLeft - 8, y_of(std::pow(10, decade - 1)) + 4,
                    fmt::format("{:g}", std::pow(10, decade - 1)), "end");
  }
  out += svg_text(kLeft + kWidth / 2, kBottom + 38, "multiply-adds of a weight byte", "middle");
  out += svg_text(10, 20, "tera-operations a second (a multiply-add is two)");
  out += svg_text(x_of(machine.ridge()), y_of(peak) - 8,
                  fmt::format("ridge {:.0f}, {:.1f} TOPS", machine.ridge(), peak), "middle");
  std::vector<std::pair<double, double>> labels;  // where they begin
  for (const NamedCounters& program : programs) {
    const Counters& c = program.counters;
    if (c.weight_bytes == 0 || c.multiply_adds == 0) continue;
    const double x = x_of(c.multiply_adds / c.weight_bytes);
    const double y = y_of(ops_per_second(c, machine) * 1e-12);
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"#1b6ca8\"/>\n", x, y);
    // A label moves down while it covers another one.
    double label = y + 14;
    const auto covers = [&](const std::pair<double, double>& other) {
      return std::abs(other.first - x) < 60 && std::abs(other.second - label) < 13;
    };
    while (std::any_of(labels.begin(), labels.end(), covers)) label += 13;
    labels.emplace_back(x, label);
    out += svg_text(x + 8, label, xml_escaped(program.name));
  }
  return out + "</svg>\n";
}

std::string utilization_svg(std::span<const NamedCounters> programs) {
  constexpr std::string_view kColors[] = {"#2e8b57", "#c0392b", "#e69f00", "#8c8c8c"};
  constexpr std::string_view kParts[] = {"active", "weight stall", "weight shift", "non-matrix"};
  const double height = 60 + 28 * static_cast<double>(programs.size());
  std::string out = svg_begin(640, height);
  for (size_t i = 0; i < 4; ++i) {
    const double x = 100 + 125 * static_cast<double>(i);
    out += fmt::format("<rect x=\"{}\" y=\"12\" width=\"14\" height=\"14\" fill=\"{}\"/>\n", x,
                       kColors[i]);
    out += svg_text(x + 20, 24, kParts[i]);
  }
  double y = 44;
  for (const NamedCounters& program : programs) {
    const Counters& c = program.counters;
    const double parts[] = {c.active, c.weight_stall, c.weight_shift, c.non_matrix};
    out += svg_text(92, y + 15, xml_escaped(program.name), "end");
    double x = 100;
    for (size_t i = 0; i < 4; ++i) {
      const double width = 5 * c.percent(parts[i]);
      out += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"20\" fill=\"{}\"/>\n", x, y,
          width, kColors[i]);
      if (width > 24)
        out +=
            svg_text(x + width / 2, y + 15, fmt::format("{:.0f}", c.percent(parts[i])), "middle");
      x += width;
    }
    y += 28;
  }
  return out + "</svg>\n";
}

std::string wave_svg(int size, int vectors) {
  if (size < 2 || size > 16 || vectors < 1 || vectors > 32) {
    throw invalid_argument("wave: size and vectors, got {} and {}, expected 2 to 16 and 1 to 32",
                           size, vectors);
  }
  constexpr double kSecondsPerCycle = 0.5;
  constexpr std::string_view kWaves[] = {"#1b6ca8", "#c0392b", "#2e8b57", "#e69f00"};
  const int cycles = size + vectors + 2 * size - 1;
  SystolicArray array(size);
  // Colours of each cell by cycle: grey while it holds no weight, white when it idles, else the
  // colour of its wave.
  std::vector<std::string> colors(static_cast<size_t>(size * size));
  for (int cycle = 0; cycle < cycles; ++cycle) {
    SystolicArray::Feed feed;
    if (cycle < size) feed.weights = std::vector<int32_t>(static_cast<size_t>(size), 1);
    if (cycle >= size && cycle < size + vectors) {
      feed.vector = std::vector<int32_t>(static_cast<size_t>(size), 1);
      feed.next = cycle == size;
    }
    array.step(feed);
    for (int i = 0; i < size * size; ++i) {
      const SystolicArray::Cell& cell = array.cell(i / size, i % size);
      std::string& list = colors[i];
      if (!list.empty()) list += ';';
      list += cell.vector >= 0 ? kWaves[cell.vector % 4] : cell.shadow != 0 ? "#eeeeee" : "#bbbbbb";
    }
  }
  const double side = 40.0 * size;
  std::string out = svg_begin(side + 60, side + 70);
  out += svg_text(
      30, 20,
      fmt::format("Weights shift in from above; then {} vectors pass as diagonal waves", vectors));
  for (int i = 0; i < size * size; ++i) {
    out += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"36\" height=\"36\" stroke=\"#666\" "
        "fill=\"#bbbbbb\"><animate "
        "attributeName=\"fill\" calcMode=\"discrete\" dur=\"{}s\" repeatCount=\"indefinite\" "
        "values=\"{}\"/></rect>\n",
        30 + 40 * (i % size), 36 + 40 * (i / size), kSecondsPerCycle * cycles, colors[i]);
  }
  return out + "</svg>\n";
}

std::string trace_json(const Program& program, const TimingReport& report,
                       const MachineConfig& machine) {
  std::string out = "{\"traceEvents\":[\n";
  for (int unit = 0; unit < kUnits; ++unit) {
    out += fmt::format(
        "{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":{},\"args\":{{\"name\":\"{}\"}}}"
        "},\n",
        unit, kUnitNames[static_cast<size_t>(unit)]);
  }
  const double scale = 1e6 / machine.clock_hz;
  for (const TimelineEvent& event : report.timeline) {
    const Instruction& instruction = program.instructions[event.index];
    out += fmt::format(
        "{{\"name\":\"{}\",\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{:.4f},\"dur\":{:.4f},"
        "\"args\":{{\"index\":{},\"text\":\"{}\"}}}},\n",
        name_of(instruction.opcode), static_cast<int>(event.unit), event.begin * scale,
        (event.end - event.begin) * scale, event.index, to_text(instruction));
  }
  return out +
         "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"TPU v1\"}}]}\n";
}

}  // namespace systole::tpu_v1
