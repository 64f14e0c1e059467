#include "bench/figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

namespace bench {
namespace {

std::vector<Figure>& figures() {
  static std::vector<Figure> list;
  return list;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Collects the seconds per iteration of every repetition, by benchmark name.
class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const std::string& name = run.run_name.function_name;
      if (run.error_occurred) {
        fmt::print(stderr, "{}: {}\n", name, run.error_message);
      } else if (run.run_type == Run::RT_Iteration) {
        seconds_[name].push_back(run.real_accumulated_time / static_cast<double>(run.iterations));
      }
    }
  }

  std::optional<double> seconds(const std::string& name) const {
    const auto it = seconds_.find(name);
    return it == seconds_.end() ? std::nullopt : std::optional(median(it->second));
  }
  // Returns the time of `name` divided by that of `by`, as the median over adjacent repetitions.
  std::optional<double> ratio(const std::string& name, const std::string& by) const {
    const auto ours = seconds_.find(by);
    const auto other = seconds_.find(name);
    if (other == seconds_.end() || other->second.size() != ours->second.size()) return std::nullopt;
    std::vector<double> ratios(ours->second.size());
    std::transform(other->second.begin(), other->second.end(), ours->second.begin(), ratios.begin(),
                   std::divides<>());
    return median(std::move(ratios));
  }

 private:
  std::map<std::string, std::vector<double>> seconds_;
};

double value_of(const Figure& figure, double seconds) {
  if (figure.work > 0) return figure.work / seconds;
  return seconds / figure.per * (figure.unit == "ms" ? 1e3 : 1e6);
}

struct Row {
  std::string name, unit, peer;
  double value = 0;
  std::optional<double> limit, share_of_limit, peer_value, peer_ratio;
};

std::optional<Row> row_of(const Figure& figure, const Collector& results) {
  const auto ours = results.seconds(figure.name);
  if (!ours) return std::nullopt;
  Row row{.name = figure.name,
          .unit = figure.unit,
          .peer = figure.peer,
          .value = value_of(figure, *ours)};
  const std::string limit = figure.name + "/limit";
  const std::string peer = figure.name + "/" + figure.peer;
  if (const auto seconds = results.seconds(limit)) row.limit = value_of(figure, *seconds);
  if (const auto seconds = results.seconds(peer)) row.peer_value = value_of(figure, *seconds);
  row.share_of_limit = results.ratio(limit, figure.name);
  row.peer_ratio = results.ratio(peer, figure.name);
  return row;
}

std::string cell(const std::optional<double>& value, const char* suffix = "", double scale = 1) {
  return value ? fmt::format("{:.4g}{}", *value * scale, suffix) : "-";
}

void print_heads() {
  fmt::print("{:<40}{:>12} {:<10}{:>12}{:>10}{:>14}{:>10}\n", "figure", "value", "unit", "limit",
             "share", "peer", "ratio");
}

void print_row(const Row& r) {
  fmt::print("{:<40}{:>12.4g} {:<10}{:>12}{:>10}{:>14}{:>10}\n", r.name, r.value, r.unit,
             cell(r.limit), cell(r.share_of_limit, " %", 100), cell(r.peer_value),
             cell(r.peer_ratio, " x"));
  std::fflush(stdout);
}

nlohmann::json to_json(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

void write_json(const std::vector<Row>& rows, const std::string& path) {
  nlohmann::json list = nlohmann::json::array();
  for (const Row& r : rows) {
    list.push_back({{"name", r.name},
                    {"value", r.value},
                    {"unit", r.unit},
                    {"limit", to_json(r.limit)},
                    {"share_of_limit", to_json(r.share_of_limit)},
                    {"peer", r.peer_value ? nlohmann::json(r.peer) : nlohmann::json()},
                    {"peer_value", to_json(r.peer_value)},
                    {"peer_ratio", to_json(r.peer_ratio)}});
  }
  std::ofstream(path) << list.dump(2) << "\n";
}

void register_body(const Figure& figure, const std::string& suffix, const Body& body) {
  if (!body) return;
  auto* benchmark = benchmark::RegisterBenchmark((figure.name + suffix).c_str(), body);
  // A body with manual time may report almost none, so a number of iterations ends it.
  figure.manual_time ? benchmark->UseManualTime()->Iterations(1) : benchmark->UseRealTime();
}

}  // namespace

void add(Figure figure) {
  register_body(figure, "", figure.ours);
  register_body(figure, "/limit", figure.limit);
  register_body(figure, "/" + figure.peer, figure.peer_body);
  figures().push_back(std::move(figure));
}

int run(int argc, char** argv, const std::string& json_path) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  const std::regex filter(benchmark::GetBenchmarkFilter());
  std::vector<Row> rows;
  for (const Figure& figure : figures()) {
    if (!std::regex_search(figure.name, filter)) continue;
    // A row, its limit and its peer alternate, so that load on the machine affects all of them.
    Collector results;
    for (int i = 0; i < figure.repetitions; ++i)
      benchmark::RunSpecifiedBenchmarks(&results, fmt::format("^{}(/.*)?$", figure.name));
    auto row = row_of(figure, results);
    if (!row) continue;
    if (rows.empty()) print_heads();
    print_row(*row);
    rows.push_back(std::move(*row));
  }
  if (!json_path.empty()) write_json(rows, json_path);
  return rows.empty() ? 1 : 0;
}

}  // namespace bench
