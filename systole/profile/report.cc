#include "systole/profile/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "systole/base/error.h"
#include "systole/profile/analysis.h"
#include "systole/runtime/memory.h"

namespace systole::profile {
namespace {

using nlohmann::json;

constexpr std::string_view kSuffix = ".systole.json";

// -- Reading

// The figures of a run: those of the program before those of the workers that it used.
std::string find_in_folder(FileSystem& files, const std::string& folder) {
  if (!files.exists(folder)) return "";
  std::vector<std::string> found;
  for (const std::string& name : files.list(folder)) {
    if (name.ends_with(kSuffix)) found.push_back(join_path(folder, name));
  }
  if (found.empty()) return "";
  for (const std::string& path : found) {
    if (found.size() == 1) break;
    const json figures = json::parse(read_file(files, path), nullptr, false);
    if (figures.is_object() && figures.contains("workers") && !figures["workers"].empty())
      return path;
  }
  return found.front();
}

std::string find_file(FileSystem& files, const std::string& path) {
  if (files.exists(path) && !files.stat(path).is_directory) return path;
  if (std::string found = find_in_folder(files, path); !found.empty()) return found;
  const std::string runs = join_path(path, "plugins/profile");
  if (files.exists(runs)) {
    std::vector<std::string> names = files.list(runs);
    for (const std::string& name : std::vector(names.rbegin(), names.rend())) {
      if (std::string found = find_in_folder(files, join_path(runs, name)); !found.empty())
        return found;
    }
  }
  throw not_found("{}: profile, got no *{} there or in plugins/profile, expected a logdir or a run",
                  path, kSuffix);
}

double number(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const json& list(const json& object, const char* key) {
  static const json kNone = json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kNone;
}

const json& part(const json& object, const char* key) {
  static const json kNone = json::object();
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : kNone;
}

// -- Numbers

double quotient(double a, double b) { return b > 0 ? a / b : 0; }

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3f} ms", 1e3 * seconds);
  return fmt::format("{:.3f} us", 1e6 * seconds);
}

std::string shortened(const std::string& name, size_t most) {
  return name.size() <= most ? name : "..." + name.substr(name.size() - most + 3);
}

// -- Sections

void add_head(const json& p, std::string& out) {
  const json& peaks = part(p, "peaks");
  const json& times = part(p, "step_times");
  out += fmt::format("profile of {:.0f} steps in {} on {}, {:.0f} replica{}\n", number(p, "steps"),
                     time_text(number(p, "seconds")), text(peaks, "name"), number(p, "replicas"),
                     number(p, "replicas") == 1 ? "" : "s");
  for (const char* const key : {"problem", "remark"}) {
    if (const std::string sentence = text(p, key); !sentence.empty()) out += sentence + "\n";
  }
  if (number(p, "dropped_events") > 0) {
    out += fmt::format("{:.0f} older events found no room and are missing\n",
                       number(p, "dropped_events"));
  }
  out += fmt::format(
      "\nstep time (end of a step to the end of the next; they add up to the wall time)\n"
      "  mean {}  sd {}  min {}  p50 {}  p90 {}  p99 {}  max {}\n",
      time_text(number(times, "mean")), time_text(number(times, "stddev")),
      time_text(number(times, "min")), time_text(number(times, "p50")),
      time_text(number(times, "p90")), time_text(number(times, "p99")),
      time_text(number(times, "max")));
}

void add_parts(const json& p, std::string& out) {
  const json& parts = part(p, "step_parts");
  const json& percentiles = part(p, "part_percentiles");
  double all = 0;
  for (const auto& [name, seconds] : parts.items()) all += seconds.get<double>();
  out += "\nwhere the step time goes (self time of spans on the thread that trains)\n";
  out +=
      fmt::format("  {:<12} {:>8} {:>14} {:>14} {:>14}\n", "part", "share", "mean", "p50", "p99");
  const double steps = std::max(number(p, "steps"), 1.0);
  for (int i = 0; i < kNumParts; ++i) {
    const std::string name(to_string(static_cast<Part>(i)));
    const double seconds = number(parts, name.c_str());
    const json& d = part(percentiles, name.c_str());
    out += fmt::format("  {:<12} {:>6.1f} % {:>14} {:>14} {:>14}\n", name,
                       100 * quotient(seconds, all), time_text(seconds / steps),
                       time_text(number(d, "p50")), time_text(number(d, "p99")));
  }
  out += fmt::format("  sum {} of {} of steps\n", time_text(all),
                     time_text(number(part(p, "step_times"), "mean") * number(p, "steps")));
}

void add_utilisation(const json& p, std::string& out) {
  const json& peaks = part(p, "peaks");
  out += fmt::format(
      "\nutilisation of the device\n"
      "  busy               {:6.1f} %  (compute + all-reduce + transfer + launch) / captured time\n"
      "  FLOP/s             {:6.1f} %  FLOP of ops / (time of ops x {:.3g} GFLOP/s, measured)\n"
      "  memory bandwidth   {:6.1f} %  bytes of ops / (time of ops x {:.3g} GB/s, measured)\n"
      "  of the roofline    {:6.1f} %  FLOP/s / min(peak FLOP/s, FLOP per byte x peak bandwidth)\n"
      "  useful on a TPU    {:6.1f} %  FLOP of products / FLOP with rows padded to 8, depth and "
      "columns to 128\n",
      100 * number(p, "device_busy"), 100 * number(p, "flops_utilization"),
      1e-9 * number(peaks, "flops_per_second"), 100 * number(p, "bandwidth_utilization"),
      1e-9 * number(peaks, "bytes_per_second"), 100 * number(p, "roofline_utilization"),
      100 * number(p, "mxu_useful_share"));
}

struct Group {
  double seconds = 0, flops = 0, bytes = 0, wasted = 0;
};

void add_groups(const json& p, const char* title, const char* key, size_t most, std::string& out) {
  std::map<std::string, Group> groups;
  double all = 0;
  for (const json& op : list(p, "ops")) {
    Group& group = groups[text(op, key)];
    const double seconds = number(op, "seconds");
    all += seconds;
    group.seconds += seconds;
    group.flops += number(op, "flops") * number(op, "runs");
    group.bytes += number(op, "bytes") * number(op, "runs");
    group.wasted += number(op, "wasted_seconds");
  }
  std::vector<std::pair<std::string, Group>> sorted(groups.begin(), groups.end());
  std::ranges::stable_sort(
      sorted, [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  const json& peaks = part(p, "peaks");
  out += fmt::format("\n{}\n  {:<44} {:>7} {:>12} {:>8} {:>8} {:>8}\n", title, "", "time", "",
                     "FLOP/s", "memory", "wasted");
  for (size_t i = 0; i < std::min(sorted.size(), most); ++i) {
    const auto& [name, g] = sorted[i];
    out +=
        fmt::format("  {:<44} {:>5.1f} % {:>12} {:>6.1f} % {:>6.1f} % {:>6.1f} %\n",
                    shortened(name.empty() ? "(unknown)" : name, 44),
                    100 * quotient(g.seconds, all), time_text(g.seconds),
                    100 * quotient(quotient(g.flops, g.seconds), number(peaks, "flops_per_second")),
                    100 * quotient(quotient(g.bytes, g.seconds), number(peaks, "bytes_per_second")),
                    100 * quotient(g.wasted, all));
  }
}

void add_ops(const json& p, size_t most, std::string& out) {
  double all = 0;
  for (const json& op : list(p, "ops")) all += number(op, "seconds");
  out += fmt::format(
      "\nroofline of the longest ops (limit = min(peak FLOP/s, intensity x peak bandwidth))\n"
      "  {:<40} {:>7} {:>12} {:>10} {:>10} {:>10}  {}\n",
      "op", "time", "a run", "FLOP/byte", "GFLOP/s", "limit", "limited by");
  size_t shown = 0;
  for (const json& op : list(p, "ops")) {
    if (shown++ == most) break;
    const double seconds = number(op, "seconds");
    const double runs = std::max(number(op, "runs"), 1e-9);
    const std::string scope = text(op, "scope");
    std::string name = scope.empty() ? text(op, "name") : scope;
    if (const std::string source = text(op, "source"); !source.empty()) name += " " + source;
    out +=
        fmt::format("  {:<40} {:>5.1f} % {:>12} {:>10.3g} {:>10.3g} {:>10.3g}  {}\n",
                    shortened(name, 40), 100 * quotient(seconds, all), time_text(seconds / runs),
                    number(op, "intensity"), 1e-9 * quotient(number(op, "flops") * runs, seconds),
                    1e-9 * number(op, "roofline_flops_per_second"), text(op, "limited_by"));
  }
}

void add_inputs(const json& p, std::string& out) {
  for (const json& pipeline : list(p, "inputs")) {
    out += fmt::format(
        "\ninput stages, the last first (busy: work on all threads without the stages before)\n"
        "  {:<28} {:>8} {:>12} {:>12} {:>12} {:>14}\n",
        "stage", "threads", "elements", "busy", "an element", "elements/s");
    for (const json& stage : pipeline) {
      const double elements = number(stage, "elements");
      const double busy = number(stage, "busy_seconds");
      const double threads = std::max(number(stage, "threads"), 1.0);
      const std::string name =
          std::string(static_cast<size_t>(std::clamp(number(stage, "depth"), 0.0, 20.0)), ' ') +
          text(stage, "name");
      out += fmt::format("  {:<28} {:>8.0f} {:>12.0f} {:>12} {:>12} {:>14.4g}\n", name, threads,
                         elements, time_text(busy), time_text(quotient(busy, elements)),
                         busy > 0 ? elements * threads / busy : 0);
    }
  }
}

void add_host_work(const json& p, std::string& out) {
  std::string rows;
  std::string compile;
  size_t shown = 0;
  for (const json& h : list(p, "host")) {
    const std::string kind = text(h, "kind");
    const std::string row = fmt::format(
        "  {:<36} {:<12} {:>8.0f} {:>14} {:>14}\n", shortened(text(h, "name"), 36), kind,
        number(h, "count"), time_text(number(h, "seconds")), time_text(number(h, "self_seconds")));
    if (kind == "compile") {
      compile += row;
    } else if (shown++ < 12) {
      rows += row;
    }
  }
  const std::string head =
      fmt::format("  {:<36} {:<12} {:>8} {:>14} {:>14}\n", "span", "kind", "count", "time", "self");
  if (!rows.empty()) out += "\nwork of the host on the thread that trains\n" + head + rows;
  if (!compile.empty()) out += "\ncompilation, by pass, on all threads\n" + head + compile;
}

void add_workers(const json& p, std::string& out) {
  for (const json& worker : list(p, "workers")) {
    const std::string problem = text(worker, "problem");
    out += fmt::format("\nworker {}", text(worker, "address"));
    out += problem.empty() ? fmt::format(": its clock + {} ns is this machine's, within {}\n",
                                         number(worker, "clock_offset_ns"),
                                         time_text(1e-9 * number(worker, "clock_error_ns")))
                           : fmt::format(": {}\n", problem);
    out += fmt::format("  {:<24} {:>8} {:>14} {:>14} {:>14}\n", "call", "count", "a call", "worker",
                       "between");
    for (const json& call : list(worker, "calls")) {
      const double count = std::max(number(call, "count"), 1.0);
      const double all = number(call, "seconds") / count;
      const double work = number(call, "worker_seconds") / count;
      out += fmt::format("  {:<24} {:>8.0f} {:>14} {:>14} {:>14}\n", text(call, "name"), count,
                         time_text(all), time_text(work), time_text(std::max(all - work, 0.0)));
    }
    if (const std::string host = text(worker, "host"); !host.empty())
      out += fmt::format("  its ops: systole profile report RUN/{}{}\n", host, kSuffix);
  }
}

void add_memory(const json& p, std::string& out) {
  const json& m = part(p, "memory");
  if (m.empty()) return;
  out += fmt::format(
      "\nmemory of {} (from its plan): arguments {}, results {}, temporaries {}, constants {}\n"
      "  peak of the temporaries {} at position {:.0f} of {}; on a TPU padding to 8 x 128 adds {} "
      "to "
      "{} of arrays\n",
      text(m, "program"), runtime::bytes_text(number(m, "argument_bytes")),
      runtime::bytes_text(number(m, "result_bytes")),
      runtime::bytes_text(number(m, "temporary_bytes")),
      runtime::bytes_text(number(m, "constant_bytes")),
      runtime::bytes_text(number(m, "peak_bytes")), number(m, "peak_position"),
      list(m, "by_position").size(), runtime::bytes_text(number(m, "padding_bytes")),
      runtime::bytes_text(number(m, "array_bytes")));
  size_t shown = 0;
  for (const json& a : list(m, "at_peak")) {
    if (shown++ == 5) break;
    const std::string scope = text(a, "scope");
    out += fmt::format("  {:>12}  {:<24} {} {}\n", runtime::bytes_text(number(a, "bytes")),
                       text(a, "type"), scope.empty() ? text(a, "name") : scope, text(a, "source"));
  }
}

void add_advice(const json& p, std::string& out) {
  out +=
      "\nadvice, the most valuable first (gain: the share of the step time it can save at most)\n";
  int i = 0;
  for (const json& a : list(p, "advice"))
    out += fmt::format(
        "  {}. {}{}\n", ++i, text(a, "text"),
        number(a, "gain") > 0 ? fmt::format(" Gain: {:.0f} %.", 100 * number(a, "gain")) : "");
  if (i == 0) out += "  No bottleneck stands out.\n";
}

// -- Comparison

struct Change {
  std::string name;
  double before = 0, after = 0;  // seconds a step
};

void add_changes(std::vector<Change> changes, size_t most, const char* title, std::string& out) {
  std::ranges::stable_sort(changes, [](const Change& a, const Change& b) {
    return std::abs(a.after - a.before) > std::abs(b.after - b.before);
  });
  out += fmt::format("\n{}\n  {:<48} {:>12} {:>12} {:>12} {:>8}\n", title, "", "before", "after",
                     "change", "ratio");
  for (size_t i = 0; i < std::min(changes.size(), most); ++i) {
    const Change& c = changes[i];
    const double change = c.after - c.before;
    out += fmt::format("  {:<48} {:>12} {:>12} {:>12} {:>8}\n", shortened(c.name, 48),
                       time_text(c.before), time_text(c.after),
                       (change < 0 ? "-" : "+") + time_text(std::abs(change)),
                       c.before > 0 ? fmt::format("{:.2f}", c.after / c.before) : "new");
  }
}

std::vector<Change> changes_of(const std::map<std::string, double>& before,
                               const std::map<std::string, double>& after) {
  std::map<std::string, Change> all;
  for (const auto& [name, seconds] : before) all[name].before = seconds;
  for (const auto& [name, seconds] : after) all[name].after = seconds;
  std::vector<Change> result;
  for (auto& [name, change] : all) {
    change.name = name;
    result.push_back(change);
  }
  return result;
}

std::map<std::string, double> ops_of(const json& p) {
  std::map<std::string, double> result;
  const double steps = std::max(number(p, "steps"), 1.0);
  for (const json& op : list(p, "ops")) {
    const std::string expression = text(op, "expression");
    const std::string scope = text(op, "scope");
    const std::string key =
        (scope.empty() ? "" : scope + ": ") + expression.substr(0, expression.find(", node"));
    result[key] += number(op, "seconds") / steps;
  }
  return result;
}

std::map<std::string, double> parts_a_step(const json& p) {
  std::map<std::string, double> result;
  const double steps = std::max(number(p, "steps"), 1.0);
  for (const auto& [name, seconds] : part(p, "step_parts").items()) {
    if (seconds.is_number()) result[name] = seconds.get<double>() / steps;
  }
  return result;
}

std::map<std::string, double> stages_of(const json& p) {
  std::map<std::string, double> result;
  for (const json& pipeline : list(p, "inputs")) {
    for (const json& stage : pipeline) {
      const double threads = std::max(number(stage, "threads"), 1.0);
      result[text(stage, "name")] +=
          number(stage, "busy_seconds") / threads / std::max(number(p, "steps"), 1.0);
    }
  }
  return result;
}

}  // namespace

json read_profile(FileSystem& files, const std::string& path) {
  const std::string file = find_file(files, path);
  json profile = json::parse(read_file(files, file), nullptr, false);
  if (profile.is_discarded() || !profile.is_object() || !profile.contains("step_parts")) {
    throw make_error(Code::data_loss, "{}: got other contents, expected the figures of a profile",
                     file);
  }
  return profile;
}

std::string report_text(const json& p, const ReportOptions& options) {
  std::string out;
  const auto most = static_cast<size_t>(std::max(options.ops, 0));
  add_head(p, out);
  if (number(p, "steps") > 0) {
    add_parts(p, out);
    add_utilisation(p, out);
    if (number(p, "sampled_steps") < 1) {
      out +=
          fmt::format("\nops were noted in {:.1f} % of the steps; their times are scaled to all\n",
                      100 * number(p, "sampled_steps"));
    }
    add_groups(p, "ops by category (wasted = time x (1 - the larger utilisation))", "category", 20,
               out);
    add_groups(p, "ops by name", "scope", most, out);
    add_groups(p, "ops by source line", "source", most, out);
    add_ops(p, most, out);
  }
  add_inputs(p, out);
  add_host_work(p, out);
  add_workers(p, out);
  add_memory(p, out);
  if (number(p, "steps") > 0) add_advice(p, out);
  return out;
}

std::string comparison_text(const json& before, const json& after, const ReportOptions& options) {
  const double a = number(part(before, "step_times"), "mean");
  const double b = number(part(after, "step_times"), "mean");
  std::string out = fmt::format("step time: {} before, {} after: {:.2f} times\n", time_text(a),
                                time_text(b), quotient(b, a));
  const auto most = static_cast<size_t>(std::max(options.ops, 0));
  add_changes(changes_of(parts_a_step(before), parts_a_step(after)), most,
              "parts of a step, the largest change first", out);
  add_changes(changes_of(ops_of(before), ops_of(after)), most, "ops, time a step", out);
  add_changes(changes_of(stages_of(before), stages_of(after)), most,
              "input stages, work a step on each thread", out);
  return out;
}

}  // namespace systole::profile
