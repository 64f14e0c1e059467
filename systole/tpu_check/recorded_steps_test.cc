// Training steps of JAX programs, with what libtpu said of them: how far our models are from it.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "systole/hlo/tpu_model/step_memory.h"
#include "systole/io/archives/archive_reader.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/stablehlo/text/text.h"
#include "systole/tpu_check/program_check.h"
#include "systole/tpu_check/target.h"

namespace systole::tpu_check {
namespace {

// A row of steps.csv.
struct Recorded {
  std::string step;
  std::string system;
  bool fits = false;
  double bytes = 0;
  double cycles = 0;       // 0: not known
  bool is_unseen = false;  // nothing was fitted to it
};

struct Compared {
  Recorded recorded;
  CoreEstimate ours;

  double memory_ratio() const { return static_cast<double>(ours.bytes) / recorded.bytes; }
  double time_ratio() const {
    return ours.seconds * target_of(recorded.system).clock_hz / recorded.cycles;
  }
};

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> fields{""};
  for (const char c : line) {
    if (c == separator) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

double number(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Columns: step, system, verdict, bytes, cycles, set.
std::vector<Recorded> read_recorded() {
  std::vector<Recorded> rows;
  const auto lines = split(read_file(default_file_system(), "tests/libtpu/steps.csv"), '\n');
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = split(lines[i], ',');
    if (fields.size() != 6) continue;
    rows.push_back({.step = fields[0],
                    .system = fields[1],
                    .fits = fields[2] == "fits",
                    .bytes = number(fields[3]),
                    .cycles = number(fields[4]),
                    .is_unseen = fields[5] == "unseen"});
  }
  return rows;
}

std::vector<Compared> compare_all() {
  std::map<std::string, std::vector<Recorded>> rows;
  for (const Recorded& row : read_recorded()) rows[row.step].push_back(row);
  std::vector<Compared> compared;
  ArchiveReader programs(default_file_system(), "tests/libtpu/steps.tar.xz");
  while (programs.next()) {
    const std::string file = programs.name();
    const std::string step = file.substr(0, file.rfind('.'));
    const auto module = hlo::parse(programs.read(), file);
    const auto program = hlo::tpu_program(*module);
    for (const Recorded& row : rows[step])
      compared.push_back({row, estimate_optimized(*program, row.system)});
  }
  return compared;
}

const std::vector<Compared>& all_compared() {
  static const std::vector<Compared> compared = compare_all();
  return compared;
}

// |log ratio| as a factor: 1.1 is 10 % more or less.
struct Factors {
  double median = 0;
  double percentile_90 = 0;
  size_t count = 0;
};

template <class Ratio>
Factors factors_of(const std::vector<Compared>& compared, Ratio ratio) {
  std::vector<double> logs;
  for (const Compared& c : compared) {
    const double r = ratio(c);
    if (r > 0) logs.push_back(std::abs(std::log(r)));
  }
  std::ranges::sort(logs);
  const auto at = [&](double share) {
    return std::exp(logs[static_cast<size_t>(share * static_cast<double>(logs.size() - 1))]);
  };
  if (logs.empty()) return {};
  return {at(0.5), at(0.9), logs.size()};
}

double memory_ratio(const Compared& c) { return c.memory_ratio(); }
double time_ratio(const Compared& c) { return c.recorded.cycles > 0 ? c.time_ratio() : 0; }

std::vector<Compared> unseen() {
  std::vector<Compared> some;
  std::ranges::copy_if(all_compared(), std::back_inserter(some),
                       [](const Compared& c) { return c.recorded.is_unseen; });
  return some;
}

void print_table() {
  fmt::print("{:42} {:6} {:>8} {:>8} {:>6} {:>9} {:>9} {:>6} {:6}\n", "step", "TPU", "GB", "ours",
             "ratio", "ms", "ours", "ratio", "set");
  for (const Compared& c : all_compared()) {
    const double clock = target_of(c.recorded.system).clock_hz;
    fmt::print("{:42} {:6} {:8.3f} {:8.3f} {:6.2f} {:9.3f} {:9.3f} {:6.2f} {:6} {}{}\n",
               c.recorded.step, c.recorded.system, 1e-9 * c.recorded.bytes,
               1e-9 * static_cast<double>(c.ours.bytes), c.memory_ratio(),
               1e3 * c.recorded.cycles / clock, 1e3 * c.ours.seconds, time_ratio(c),
               c.recorded.is_unseen ? "unseen" : "fitted", c.recorded.fits ? "fits" : "too big",
               c.recorded.fits == c.ours.fits() ? "" : ", WRONG");
  }
}

TEST(RecordedSteps, have_libtpus_verdict) {
  print_table();
  const auto right = std::ranges::count_if(
      all_compared(), [](const Compared& c) { return c.recorded.fits == c.ours.fits(); });
  const double share = static_cast<double>(right) / static_cast<double>(all_compared().size());
  EXPECT_EQ(all_compared().size(), read_recorded().size());
  EXPECT_GE(share, 0.95) << right << " of " << all_compared().size();
}

TEST(RecordedSteps, have_libtpus_memory) {
  const Factors all = factors_of(all_compared(), memory_ratio);
  const Factors new_ones = factors_of(unseen(), memory_ratio);
  fmt::print("memory: {} steps, median {:.3f}, p90 {:.3f}; unseen: {} steps, {:.3f}, {:.3f}\n",
             all.count, all.median, all.percentile_90, new_ones.count, new_ones.median,
             new_ones.percentile_90);
  EXPECT_LE(all.median, 1.10);
  EXPECT_LE(all.percentile_90, 1.25);
  EXPECT_LE(new_ones.median, 1.15);
}

TEST(RecordedSteps, have_libtpus_time) {
  const Factors all = factors_of(all_compared(), time_ratio);
  const Factors new_ones = factors_of(unseen(), time_ratio);
  fmt::print("time: {} steps, median {:.3f}, p90 {:.3f}; unseen: {} steps, {:.3f}, {:.3f}\n",
             all.count, all.median, all.percentile_90, new_ones.count, new_ones.median,
             new_ones.percentile_90);
  EXPECT_LE(all.median, 1.15);
  EXPECT_LE(all.percentile_90, 1.40);
  EXPECT_LE(new_ones.median, 1.30);
}

}  // namespace
}  // namespace systole::tpu_check
