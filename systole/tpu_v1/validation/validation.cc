#include "systole/tpu_v1/validation/validation.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "systole/tpu_v1/timing/timing.h"
#include "systole/tpu_v1/workloads/workloads.h"

namespace systole::tpu_v1 {
namespace {

constexpr double kRowPoints = 3;     // allowed for rows 1, 4 and 5 of table 3
constexpr double kMeanPercent = 10;  // allowed for the mean difference of cycles
constexpr double kAsGood = 0.5;      // percent, for figures that follow from sizes alone
constexpr double kMega = 1e6;

Counters counters_of(const Workload& workload, const MachineConfig& machine) {
  return simulate(workload.program(machine), machine).counters;
}

double seconds_of(const Counters& counters, const MachineConfig& machine) {
  return counters.cycles / machine.clock_hz;
}

// The cycles of a batch that the paper's counters imply: useful products over their share of the
// peak.
double cycles_of_row_2(const Workload& workload, const Counters& ours) {
  return ours.useful / (workload.paper.useful / 100);
}
// The cycles that its throughput implies.
double cycles_of_row_9(const Workload& workload, const Counters& ours) {
  return 2 * ours.multiply_adds / (workload.paper.teraops * 1e12) * MachineConfig{}.clock_hz;
}

void add_table_3(std::vector<Figure>& figures, const Workload& workload, const Counters& c) {
  const PaperCounters& p = workload.paper;
  const std::string section = fmt::format("Table 3, {}", workload.name);
  const std::optional<double> held =
      workload.held_to_table ? std::optional(kRowPoints) : std::nullopt;
  const auto row = [&](std::string_view name, double ours, double paper,
                       std::optional<double> allowed) {
    figures.push_back({.section = section,
                       .name = std::string(name),
                       .unit = "%",
                       .ours = c.percent(ours),
                       .paper = paper,
                       .allowed = allowed});
  };
  row("1 array active", c.active, p.active, held);
  row("2 useful products", c.useful, p.useful, std::nullopt);
  row("3 unused products", c.unused(), p.unused, std::nullopt);
  row("4 weight stall", c.weight_stall, p.weight_stall,
      held ? std::optional(workload.stall_points) : std::nullopt);
  row("5 weight shift", c.weight_shift, p.weight_shift, held);
  row("6 non-matrix", c.non_matrix, p.non_matrix, std::nullopt);
  row("7 RAW stalls", c.raw_stall, p.raw_stall, std::nullopt);
  row("8 input data stalls", c.input_stall, p.input_stall, std::nullopt);
  figures.push_back({.section = section,
                     .name = "9 tera-operations a second",
                     .unit = "TOPS",
                     .ours = ops_per_second(c, MachineConfig{}) * 1e-12,
                     .paper = p.teraops});
}

// Cycles that follow from a row of table 3, and the mean of the differences of the programs that
// are held to the table.
void add_cycles(std::vector<Figure>& figures, const std::vector<Counters>& counters,
                std::string_view row, double (*cycles)(const Workload&, const Counters&),
                std::optional<double> allowed) {
  const std::string section = fmt::format("Cycles of a batch, against those that {} implies", row);
  double sum = 0;
  double count = 0;
  for (size_t i = 0; i < counters.size(); ++i) {
    const Workload& w = workloads()[i];
    const double derived = cycles(w, counters[i]);
    figures.push_back({.section = section,
                       .name = std::string(w.name),
                       .unit = "cycles",
                       .ours = counters[i].cycles,
                       .derived = derived,
                       .relative = true});
    if (!w.held_to_table) continue;
    sum += std::abs(figures.back().difference(derived));
    ++count;
  }
  // Table 7: Google's own model differs from the counters by 8 % on average.
  figures.push_back({.section = section,
                     .name = "mean difference without CNN1-R (Google's own model: 8)",
                     .unit = "%",
                     .ours = sum / count,
                     .allowed = allowed});
}

// Table 8: the part of the Unified Buffer that each program uses.
void add_table_8(std::vector<Figure>& figures, const std::vector<Counters>& counters) {
  constexpr std::array kMiB = {11.0, 2.3, 4.8, 4.5, 1.5, 13.9};
  for (size_t i = 0; i < counters.size(); ++i) {
    figures.push_back({.section = "Table 8, Unified Buffer used",
                       .name = std::string(workloads()[i].name),
                       .unit = "MiB",
                       .ours = static_cast<double>(counters[i].buffer_bytes) / (1 << 20),
                       .paper = kMiB.at(i)});
  }
}

double steady_seconds(MachineConfig machine, int array) {
  machine.array = array;
  const auto seconds = [&](int64_t repeats) {
    const Program program = product_stream(machine, {.batch = 200, .repeats = repeats});
    return seconds_of(simulate(program, machine).counters, machine);
  };
  return (seconds(60) - seconds(20)) / 40;
}

// Tera-operations a second of a long stream through one tile, of 8- or 16-bit operands.
double stream_teraops(const MachineConfig& machine, int64_t flags) {
  const int64_t rows = machine.accumulators / 2;
  const auto counters = [&](int64_t repeats) {
    const Program program = product_stream(
        machine,
        {.batch = rows, .inputs = 2048, .outputs = 512, .repeats = repeats, .matrix_flags = flags});
    return simulate(program, machine).counters;
  };
  const Counters few = counters(20);
  const Counters many = counters(120);
  return 2 * (many.multiply_adds - few.multiply_adds) / (many.cycles - few.cycles) *
         machine.clock_hz * 1e-12;
}

void add_limits(std::vector<Figure>& figures) {
  const MachineConfig tpu;
  const MachineConfig slow = machine_preset("tpu_v1_30gib");
  const std::string section = "Limits and worked examples";
  const auto add = [&](std::string name, std::string unit, double ours, std::optional<double> paper,
                       std::string words, double derived) {
    figures.push_back({.section = section,
                       .name = std::move(name),
                       .unit = std::move(unit),
                       .ours = ours,
                       .paper = paper,
                       .words = std::move(words),
                       .derived = derived,
                       .allowed = kAsGood,
                       .relative = true});
  };
  // 65,536 multiply-adds a cycle; loads of the 9 or 4 tiles that cover 600 x 600 weights.
  const double peak = tpu.peak_ops() * 1e-12;
  const auto load = [](double bandwidth, double array) {
    const double tiles = std::ceil(600 / array) * std::ceil(600 / array);
    return tiles * array * array / bandwidth * kMega;
  };
  const double fast_memory = tpu.weight_bandwidth;
  const double slow_memory = slow.weight_bandwidth;
  add("long stream, 8-bit operands", "TOPS", stream_teraops(tpu, 0), 92, "", peak);
  add("16-bit activations", "TOPS", stream_teraops(tpu, kInput16), {}, "half speed", peak / 2);
  add("16-bit weights", "TOPS", stream_teraops(tpu, kWeights16), {}, "half speed", peak / 2);
  add("both", "TOPS", stream_teraops(tpu, kInput16 | kWeights16), {}, "quarter speed", peak / 4);
  add("ridge", "MAC/byte", tpu.ridge(), 1350, "", peak * 1e12 / 2 / fast_memory);
  const auto steady = [](const MachineConfig& machine, int array) {
    return steady_seconds(machine, array) * kMega;
  };
  add("600x600, array 256, 34 GB/s", "us", steady(tpu, 256), 18, "", load(fast_memory, 256));
  add("600x600, array 512, 34 GB/s", "us", steady(tpu, 512), 32, "", load(fast_memory, 512));
  add("600x600, array 256, 30 GiB/s", "us", steady(slow, 256), 18, "", load(slow_memory, 256));
  add("600x600, array 512, 30 GiB/s", "us", steady(slow, 512), 32, "", load(slow_memory, 512));
}

void add_figure_11(std::vector<Figure>& figures, const std::vector<Counters>& counters) {
  MachineConfig memory;
  memory.weight_bandwidth *= 4;
  MachineConfig clock;
  clock.clock_hz *= 4;
  MachineConfig matrix;
  matrix.array = 512;
  MachineConfig clock_and_sums = clock;
  clock_and_sums.accumulators *= 4;
  const std::string section = "Speed-up by a change of the machine (figure 11 and its text)";
  struct Row {
    std::string name;
    const MachineConfig& machine;
    std::array<std::string_view, 3> words;  // of MLPs, LSTMs and CNN0
  };
  constexpr std::string_view kMean = "3 on average of all";
  constexpr std::string_view kNone = "almost no impact";
  constexpr std::string_view kWorse = "slightly degrades";
  for (const Row& row : {Row{"memory x4", memory, {kMean, kMean, kMean}},
                         {"clock x4", clock, {kNone, kNone, "about 2"}},
                         {"clock+ x4", clock_and_sums, {kNone, kNone, "about 2"}},
                         {"array 512", matrix, {kWorse, kWorse, kWorse}}}) {
    double mean[3] = {0, 0, 0};
    for (size_t i = 0; i < 5; ++i) {
      const double before = seconds_of(counters[i], MachineConfig{});
      const double after = seconds_of(counters_of(workloads()[i], row.machine), row.machine);
      mean[i / 2] += before / after / (i < 4 ? 2 : 1);
    }
    constexpr std::string_view kKinds[] = {"MLPs", "LSTMs", "CNN0-R"};
    for (size_t k = 0; k < 3; ++k) {
      figures.push_back({.section = section,
                         .name = fmt::format("{}, {}", row.name, kKinds[k]),
                         .unit = "x",
                         .ours = mean[k],
                         .words = std::string(row.words[k])});
    }
  }
}

}  // namespace

std::vector<Figure> validation_figures() {
  std::vector<Figure> figures;
  add_limits(figures);
  std::vector<Counters> counters;
  for (const Workload& workload : workloads()) {
    counters.push_back(counters_of(workload, {}));
    add_table_3(figures, workload, counters.back());
  }
  add_cycles(figures, counters, "row 2 (useful products)", &cycles_of_row_2, kMeanPercent);
  add_cycles(figures, counters, "row 9 (operations a second)", &cycles_of_row_9, std::nullopt);
  add_table_8(figures, counters);
  add_figure_11(figures, counters);
  return figures;
}

std::vector<Change> scaled_machines(const MachineConfig& machine, double factor) {
  std::vector<Change> changes;
  const auto add = [&](std::string_view name, const std::function<void(MachineConfig&)>& change) {
    MachineConfig changed = machine;
    change(changed);
    changed.check();
    changes.push_back({fmt::format("{} x{}", name, factor), changed});
  };
  const auto scaled_accumulators = [&](double by) {
    return static_cast<int64_t>(static_cast<double>(machine.accumulators) * by);
  };
  add("memory", [&](MachineConfig& m) { m.weight_bandwidth *= factor; });
  add("clock", [&](MachineConfig& m) { m.clock_hz *= factor; });
  add("clock+", [&](MachineConfig& m) {
    m.clock_hz *= factor;
    m.accumulators = scaled_accumulators(factor);
  });
  add("matrix", [&](MachineConfig& m) { m.array = static_cast<int>(m.array * factor); });
  add("matrix+", [&](MachineConfig& m) {
    m.array = static_cast<int>(m.array * factor);
    m.accumulators = scaled_accumulators(factor * factor);
  });
  return changes;
}

std::string validation_table(const std::vector<Figure>& figures) {
  std::string out;
  std::string section;
  for (const Figure& figure : figures) {
    if (figure.section != section) {
      section = figure.section;
      out += fmt::format(
          "\n### {}\n\n| figure | ours | paper | difference | derived | difference | promised "
          "|\n|---|---|---|---|---|---|---|\n",
          section);
    }
    const auto number = [](double value) {
      return std::abs(value) >= 10000 ? fmt::format("{:.0f}", value) : fmt::format("{:.2f}", value);
    };
    std::string promised = "-";
    if (figure.allowed) {
      promised = fmt::format("{}{}: {}", *figure.allowed, figure.relative ? " %" : "",
                             figure.reached() ? "yes" : "NO");
    }
    const auto compared = [&](const std::optional<double>& with, const std::string& words) {
      if (!with) return fmt::format("{} | -", words.empty() ? "-" : words);
      return fmt::format("{} | {:+.2f}{}", number(*with), figure.difference(*with),
                         figure.relative ? " %" : "");
    };
    out += fmt::format("| {}, {} | {} | {} | {} | {} |\n", figure.name, figure.unit,
                       number(figure.ours), compared(figure.paper, figure.words),
                       compared(figure.derived, ""), promised);
  }
  return out;
}

}  // namespace systole::tpu_v1
