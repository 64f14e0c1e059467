#include "systole/backends/tpu_v1/validation/validation.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "systole/backends/tpu_v1/timing/timing.h"
#include "systole/backends/tpu_v1/workloads/workloads.h"

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
double paper_cycles(const Workload& workload, const Counters& ours) {
  return ours.useful / (workload.paper.useful / 100);
}

void add_table_3(std::vector<Figure>& figures, const Workload& workload, const Counters& c) {
  const PaperCounters& p = workload.paper;
  const std::string section = fmt::format("Table 3, {}", workload.name);
  const std::optional<double> held =
      workload.held_to_table ? std::optional(kRowPoints) : std::nullopt;
  const auto row = [&](std::string_view name, double ours, double paper,
                       std::optional<double> allowed) {
    figures.push_back({section, std::string(name), "%", c.percent(ours), paper, allowed});
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
  figures.push_back({section, "9 tera-operations a second", "TOPS",
                     ops_per_second(c, MachineConfig{}) * 1e-12, p.teraops, std::nullopt});
}

void add_throughput(std::vector<Figure>& figures, const std::vector<Counters>& counters) {
  const std::string section = "Cycles of a batch, against those of the paper's counters (row 2)";
  double sum = 0;
  double count = 0;
  for (size_t i = 0; i < counters.size(); ++i) {
    const Workload& w = workloads()[i];
    figures.push_back({section, std::string(w.name), "cycles", counters[i].cycles,
                       paper_cycles(w, counters[i]), std::nullopt, true});
    if (!w.held_to_table) continue;
    sum += std::abs(figures.back().difference());
    ++count;
  }
  // Table 7: Google's own model differs from the counters by 8 % on average.
  figures.push_back({section, "mean difference without CNN1-R (Google's own model: 8)", "%",
                     sum / count, 0, kMeanPercent});
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
  const auto add = [&](std::string name, std::string unit, double ours, double paper) {
    figures.push_back({section, std::move(name), std::move(unit), ours, paper, kAsGood, true});
  };
  const double full = stream_teraops(tpu, 0);
  add("long stream, 8-bit operands", "TOPS", full, 91.75);
  add("half speed: 16-bit activations", "TOPS", stream_teraops(tpu, kInput16), 91.75 / 2);
  add("half speed: 16-bit weights", "TOPS", stream_teraops(tpu, kWeights16), 91.75 / 2);
  add("quarter speed: both", "TOPS", stream_teraops(tpu, kInput16 | kWeights16), 91.75 / 4);
  add("ridge", "MAC/byte", tpu.ridge(), 1349);
  add("600x600, array 256, 34 GB/s", "us", steady_seconds(tpu, 256) * kMega, 17.35);
  add("600x600, array 512, 34 GB/s", "us", steady_seconds(tpu, 512) * kMega, 30.84);
  add("600x600, array 256, 30 GiB/s", "us", steady_seconds(slow, 256) * kMega, 18.31);
  add("600x600, array 512, 30 GiB/s", "us", steady_seconds(slow, 512) * kMega, 32.55);
}

void add_figure_11(std::vector<Figure>& figures, const std::vector<Counters>& counters) {
  MachineConfig memory;
  memory.weight_bandwidth *= 4;
  MachineConfig clock;
  clock.clock_hz *= 4;
  MachineConfig matrix;
  matrix.array = 512;
  const std::string section = "Speed-up by a change of the machine (figure 11 and its text)";
  struct Row {
    std::string name;
    const MachineConfig& machine;
    std::array<double, 3> paper;  // MLPs, LSTMs, CNN0
  };
  for (const Row& row : {Row{"memory x4", memory, {3, 3, 1}},
                         {"clock x4", clock, {1, 1, 2}},
                         {"array 512", matrix, {0.95, 0.95, 0.95}}}) {
    double mean[3] = {0, 0, 0};
    for (size_t i = 0; i < 5; ++i) {
      const double before = seconds_of(counters[i], MachineConfig{});
      const double after = seconds_of(counters_of(workloads()[i], row.machine), row.machine);
      mean[i / 2] += before / after / (i < 4 ? 2 : 1);
    }
    constexpr std::string_view kKinds[] = {"MLPs", "LSTMs", "CNN0-R"};
    for (size_t k = 0; k < 3; ++k) {
      figures.push_back({section, fmt::format("{}, {}", row.name, kKinds[k]), "x", mean[k],
                         row.paper[k], std::nullopt});
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
  add_throughput(figures, counters);
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
          "\n### {}\n\n| figure | ours | paper | difference | promised |\n|---|---|---|---|---|\n",
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
    out += fmt::format("| {}, {} | {} | {} | {:+.2f}{} | {} |\n", figure.name, figure.unit,
                       number(figure.ours), number(figure.paper), figure.difference(),
                       figure.relative ? " %" : "", promised);
  }
  return out;
}

}  // namespace systole::tpu_v1
