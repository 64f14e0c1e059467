#include "systole/profile/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "systole/profile/memory.h"

namespace systole::profile {
namespace {

using nlohmann::json;

constexpr size_t kMaxSteps = 1000;  // of a page
constexpr size_t kTopOps = 10;
constexpr double kMilliseconds = 1e3;

json column(const char* id, const char* label, const char* type = "number") {
  return {{"id", id}, {"label", label}, {"type", type}};
}

json row(std::initializer_list<json> values) {
  json cells = json::array();
  for (const json& value : values) cells.push_back({{"v", value}});
  return {{"c", std::move(cells)}};
}

double step_part(const Step& step, Part part) { return step.parts[static_cast<size_t>(part)]; }

double compute_of(const Step& step) {
  return step_part(step, Part::compute) + step_part(step, Part::all_reduce);
}

// The steps of a page: all, or evenly spread ones.
std::vector<const Step*> shown_steps(const Analysis& analysis) {
  std::vector<const Step*> shown;
  const size_t n = analysis.steps.size();
  const size_t stride = std::max<size_t>((n + kMaxSteps - 1) / kMaxSteps, 1);
  for (size_t i = 0; i < n; i += stride) shown.push_back(&analysis.steps[i]);
  return shown;
}

std::string step_tooltip(const Step& step) {
  return fmt::format("step {}:\nTime waiting for input data = {:.3f} ms, Step time = {:.3f} ms",
                     step.number, kMilliseconds * step_part(step, Part::input),
                     kMilliseconds * step.seconds());
}

double ops_seconds(const Analysis& analysis) {
  double sum = 0;
  for (const OpTime& op : analysis.ops) sum += op.seconds;
  return sum;
}

// Sums over all ops.
struct Totals {
  double seconds = 0, flops = 0, bytes = 0, padded_flops = 0, product_flops = 0, attainable = 0;
};
Totals totals_of(const Analysis& analysis) {
  Totals t;
  const DevicePeaks& peaks = analysis.peaks;
  for (const OpTime& op : analysis.ops) {
    t.seconds += op.seconds;
    t.flops += op.op->flops * op.runs;
    t.bytes += op.op->bytes * op.runs;
    if (op.op->padded_flops > 0) {
      t.padded_flops += op.op->padded_flops * op.runs;
      t.product_flops += op.op->flops * op.runs;
    }
  }
  const double roof =
      t.bytes > 0 ? std::min(peaks.flops_per_second, t.flops / t.bytes * peaks.bytes_per_second)
                  : peaks.flops_per_second;
  t.attainable = roof;
  return t;
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

// What a reader of the overview must know: what is missing, and how far the clocks of workers can
// be trusted.
std::string remark_of(const Analysis& analysis) {
  std::string text = analysis.problem;
  const auto add = [&](const std::string& more) {
    if (!more.empty()) text += (text.empty() ? "" : " ") + more;
  };
  add(analysis.remark);
  for (const WorkerTimes& worker : analysis.workers) {
    add(worker.problem.empty()
            ? fmt::format("Times of worker {} are wrong by at most {:.3f} ms.", worker.address,
                          1e-6 * static_cast<double>(worker.clock_error_ns))
            : fmt::format("Worker {} is missing: {}.", worker.address, worker.problem));
  }
  return text;
}

json top_ops_table(const Analysis& analysis) {
  const double all = ops_seconds(analysis);
  json rows = json::array();
  double cumulative = 0;
  for (const OpTime& op : analysis.ops) {
    if (rows.size() == kTopOps) break;
    const double share = ratio(op.seconds, all);
    cumulative += share;
    rows.push_back(
        row({share, cumulative, op.op->category, op.op->scope.empty() ? op.op->name : op.op->scope,
             1e-9 * op.flops_per_second()}));
  }
  const Totals t = totals_of(analysis);
  return {{"cols",
           {column("selfTimePercent", "Time (%)"),
            column("cumulativeTimePercent", "Cumulative time (%)"),
            column("category", "Category", "string"), column("operation", "Operation", "string"),
            column("flopRate", "GFLOPs/Sec")}},
          {"rows", rows},
          {"p",
           {{"device_idle_time_percent", percent(1 - analysis.device_busy())},
            {"host_idle_time_percent",
             percent(ratio(analysis.parts[static_cast<size_t>(Part::other)], analysis.seconds))},
            {"flop_rate_utilization_relative_to_roofline",
             percent(ratio(ratio(t.flops, t.seconds), t.attainable))},
            {"memory_bw_utilization_relative_to_hw_limit",
             percent(ratio(ratio(t.bytes, t.seconds), analysis.peaks.bytes_per_second))},
            {"mxu_utilization_percent",
             percent(ratio(ratio(t.flops, t.seconds), analysis.peaks.flops_per_second))},
            {"remark_color", analysis.problem.empty() ? "black" : "red"},
            {"remark_text", remark_of(analysis)}}}};
}

json overview_steps_table(const Analysis& analysis) {
  json rows = json::array();
  double compute = 0;
  double input = 0;
  double idle = 0;
  for (const Step& step : analysis.steps) {
    compute += compute_of(step);
    input += step_part(step, Part::input);
    idle += step.seconds() - compute_of(step) - step_part(step, Part::input);
  }
  for (const Step* step : shown_steps(analysis)) {
    const double c = compute_of(*step);
    const double i = step_part(*step, Part::input);
    rows.push_back(row({std::to_string(step->number), kMilliseconds * c, kMilliseconds * i,
                        kMilliseconds * (step->seconds() - c - i), step_tooltip(*step)}));
  }
  const Distribution times = analysis.step_times();
  const double n = std::max<double>(static_cast<double>(analysis.steps.size()), 1);
  const auto ms = [](double seconds) { return fmt::format("{:.4g}", kMilliseconds * seconds); };
  json tooltip = column("tooltip", "tooltip", "string");
  tooltip["p"] = {{"role", "tooltip"}};
  return {{"cols",
           {column("stepnum", "stepnum", "string"), column("computeTimeMs", "Compute"),
            column("inputTimeMs", "Input"), column("idleTimeMs", "Idle"), tooltip}},
          {"rows", rows},
          {"p",
           {{"steptime_ms_average", ms(times.mean)},
            {"steptime_ms_maximum", ms(times.max)},
            {"steptime_ms_minimum", ms(times.min)},
            {"steptime_ms_standard_deviation", ms(times.stddev)},
            {"idle_ms_average", ms(idle / n)},
            {"input_ms_average", ms(input / n)},
            {"compute_ms_average", ms(compute / n)}}}};
}

json tips_table(const Analysis& analysis) {
  json rows = json::array();
  for (const Advice& advice : analysis.advice) rows.push_back(row({advice.topic, advice.text}));
  // Advice without gain is for other machines.
  const bool found = !analysis.advice.empty() && analysis.advice.front().gain > 0;
  const std::string statement = !analysis.problem.empty() ? analysis.problem
                                : found                   ? analysis.advice.front().text
                                                          : "No bottleneck stands out.";
  return {{"cols", {column("tip_type", "tip_type", "string"), column("link", "link", "string")}},
          {"rows", rows},
          {"p",
           {{"bottleneck", found ? analysis.advice.front().topic : ""}, {"statement", statement}}}};
}

// Advice for a kind of input stage. The categories are those of the plugin.
std::string category_of(const tracing::Stage& stage) {
  const bool reads = stage.name.find("Dataset") != std::string::npos ||
                     stage.name.find("file") != std::string::npos;
  if (reads) return stage.threaded ? "Advanced file read" : "Demanded file read";
  return stage.name == "batch" || stage.name == "prefetch" ? "Enqueue" : "Preprocessing";
}

json host_ops_table(const Analysis& analysis) {
  json rows = json::array();
  std::map<std::string, double> by_category;
  double all = 0;
  for (const auto& pipeline : analysis.inputs) {
    for (const tracing::Stage& stage : pipeline) all += stage.busy_seconds;
  }
  for (const auto& pipeline : analysis.inputs) {
    for (const tracing::Stage& stage : pipeline) {
      by_category[category_of(stage)] += stage.busy_seconds;
      const double share = ratio(stage.busy_seconds, all);
      rows.push_back(row({stage.name, stage.elements, kMilliseconds * stage.busy_seconds, share,
                          kMilliseconds * stage.busy_seconds, share, category_of(stage)}));
    }
  }
  const auto us = [&](const char* category) {
    return fmt::format("{:.3f}", 1e6 * by_category[category]);
  };
  return {{"cols",
           {column("opName", "Input Op", "string"), column("count", "Count"),
            column("timeInMs", "Total Time (in ms)"),
            column("timeInPercent", "Total Time (as % of total input-processing time)"),
            column("selfTimeInMs", "Total Self Time (in ms)"),
            column("selfTimeInPercent", "Total Self Time (as % of total input-processing time)"),
            column("category", "Category", "string")}},
          {"rows", rows},
          {"p",
           {{"enqueue_us", us("Enqueue")},
            {"demanded_file_read_us", us("Demanded file read")},
            {"advanced_file_read_us", us("Advanced file read")},
            {"preprocessing_us", us("Preprocessing")},
            {"unclassified_nonequeue_us", "0.000"}}}};
}

json input_steps_table(const Analysis& analysis) {
  json rows = json::array();
  for (const Step* step : shown_steps(analysis)) {
    const double wait = step_part(*step, Part::input);
    const double share = 100 * ratio(wait, step->seconds());
    rows.push_back(row({std::to_string(step->number), kMilliseconds * (step->seconds() - wait),
                        kMilliseconds * wait, step_tooltip(*step), share, share, share}));
  }
  std::vector<double> shares;
  for (const Step& step : analysis.steps)
    shares.push_back(100 * ratio(step_part(step, Part::input), step.seconds()));
  const Distribution infeed = distribution_of(std::move(shares));
  const Distribution times = analysis.step_times();
  const auto shown = [](double value) { return fmt::format("{:.4g}", value); };
  std::string conclusion = "The input keeps up with the device.";
  std::string next = "Look at the op profile.";
  for (const Advice& advice : analysis.advice) {
    if (advice.topic != "input") continue;
    conclusion = advice.text;
    next = "Speed up the slowest stage of the table of input ops.";
  }
  json tooltip = column("tooltip", "tooltip", "string");
  tooltip["p"] = {{"role", "tooltip"}};
  return {
      {"cols",
       {column("stepnum", "stepnum", "string"), column("noninfeedTimeMs", "Compute time (in ms)"),
        column("infeedTimeMs", "Input time (in ms)"), tooltip,
        column("infeedPercentAverage", "% step time waiting for input data"),
        column("infeedPercentMin", "Infeed percent min"),
        column("infeedPercentMax", "Infeed percent max")}},
      {"rows", rows},
      {"p",
       {{"infeed_percent_average", shown(infeed.mean)},
        {"infeed_percent_maximum", shown(infeed.max)},
        {"infeed_percent_minimum", shown(infeed.min)},
        {"infeed_percent_standard_deviation", shown(infeed.stddev)},
        {"steptime_ms_average", shown(kMilliseconds * times.mean)},
        {"steptime_ms_maximum", shown(kMilliseconds * times.max)},
        {"steptime_ms_minimum", shown(kMilliseconds * times.min)},
        {"steptime_ms_standard_deviation", shown(kMilliseconds * times.stddev)},
        {"summary_conclusion", conclusion},
        {"summary_nextstep", next}}}};
}

json stage_rows(const Analysis& analysis) {
  json rows = json::array();
  for (const auto& pipeline : analysis.inputs) {
    json stages = json::array();
    for (const tracing::Stage& stage : pipeline) {
      stages.push_back({{"name", stage.name},
                        {"depth", stage.depth},
                        {"threads", stage.threads},
                        {"elements", stage.elements},
                        {"busy_seconds", stage.busy_seconds},
                        {"waited_seconds", stage.waited_seconds},
                        {"remedy", stage.remedy}});
    }
    rows.push_back(std::move(stages));
  }
  return rows;
}

json parts_of(const Parts& parts) {
  json result = json::object();
  for (int p = 0; p < kNumParts; ++p)
    result[std::string(to_string(static_cast<Part>(p)))] = parts[p];
  return result;
}

json distribution(const Distribution& d) {
  return {{"mean", d.mean}, {"stddev", d.stddev}, {"min", d.min}, {"p50", d.p50},
          {"p90", d.p90},   {"p99", d.p99},       {"max", d.max}};
}

// Source: Williams, Waterman, Patterson, "Roofline", 2009.
json op_row(const OpTime& op, const Analysis& analysis) {
  const DevicePeaks& peaks = analysis.peaks;
  const double intensity = ratio(op.op->flops, op.op->bytes);
  const double roof = std::min(peaks.flops_per_second, intensity * peaks.bytes_per_second);
  const bool by_memory = intensity * peaks.bytes_per_second < peaks.flops_per_second;
  return {{"name", op.op->name},
          {"category", op.op->category},
          {"expression", op.op->expression},
          {"scope", op.op->scope},
          {"source", op.op->source},
          {"program", op.program->name},
          {"replicas", op.program->replicas},
          {"runs", op.runs},
          {"seconds", op.seconds},
          {"flops", op.op->flops},
          {"bytes", op.op->bytes},
          {"padded_flops", op.op->padded_flops},
          {"flops_utilization", ratio(op.flops_per_second(), peaks.flops_per_second)},
          {"bandwidth_utilization", ratio(op.bytes_per_second(), peaks.bytes_per_second)},
          {"intensity", intensity},
          {"roofline_flops_per_second", roof},
          {"roofline_utilization", ratio(op.flops_per_second(), roof)},
          {"limited_by", by_memory ? "memory" : "compute"},
          {"wasted_seconds", op.seconds * (1 - utilisation(op, peaks))},
          {"interpreted", op.op->interpreted}};
}

Parts parts_in_steps(const Analysis& analysis) {
  Parts sum{};
  for (const Step& step : analysis.steps) {
    for (int p = 0; p < kNumParts; ++p) sum[p] += step.parts[p];
  }
  return sum;
}

json steps_of(const Analysis& analysis) {
  json rows = json::array();
  for (const Step* step : shown_steps(analysis)) {
    rows.push_back({{"number", step->number},
                    {"begin_ns", step->begin_ns},
                    {"seconds", step->seconds()},
                    {"parts", parts_of(step->parts)}});
  }
  return rows;
}

json host_rows(const Analysis& analysis) {
  json rows = json::array();
  for (const HostTime& time : analysis.host) {
    rows.push_back({{"name", time.name},
                    {"kind", to_string(time.kind)},
                    {"count", time.count},
                    {"seconds", time.seconds},
                    {"self_seconds", time.self_seconds}});
  }
  return rows;
}

json part_percentiles(const Analysis& analysis) {
  json result = json::object();
  for (int p = 0; p < kNumParts; ++p) {
    std::vector<double> values;
    for (const Step& step : analysis.steps) values.push_back(step.parts[p]);
    result[std::string(to_string(static_cast<Part>(p)))] =
        distribution(distribution_of(std::move(values)));
  }
  return result;
}

}  // namespace

json overview_page(const Analysis& analysis) {
  const json environment = {
      {"p",
       {{"device_core_count", fmt::format("{} (Replica count = {}, num cores per replica = 1)",
                                          analysis.peaks.cores, analysis.replicas)},
        {"device_type", analysis.peaks.name},
        {"host_count", "1"}}}};
  return json::array(
      {top_ops_table(analysis), overview_steps_table(analysis), environment, tips_table(analysis)});
}

json input_pipeline_page(const Analysis& analysis) {
  json links = json::array();
  for (const auto& pipeline : analysis.inputs) {
    for (const tracing::Stage& stage : pipeline)
      links.push_back(row({stage.name + ": " + stage.remedy}));
  }
  return json::array({input_steps_table(analysis), json::object(), host_ops_table(analysis),
                      json({{"cols", {column("link", "link", "string")}}, {"rows", links}}),
                      json::object()});
}

json pod_page(const Analysis& analysis) {
  json reduces = json::array();
  for (const OpTime& op : analysis.ops) {
    if (op.op->category != "all-reduce") continue;
    reduces.push_back({{"name", op.op->name},
                       {"durationUs", 1e6 * op.seconds},
                       {"dataSize", fmt::format("{:.0f}", op.op->bytes)},
                       {"occurrences", static_cast<int64_t>(op.runs)}});
  }
  json steps = json::array();
  for (const Step* step : shown_steps(analysis)) {
    json breakdown = json::object();
    for (int p = 0; p < kNumParts; ++p) {
      breakdown[std::string(to_string(static_cast<Part>(p)))] = 1e6 * step->parts[p];
    }
    // Replicas of this machine run in lockstep in one program: one row holds for all.
    steps.push_back({{"stepNum", step->number},
                     {"podStatsPerCore",
                      {{"0",
                        {{"chipId", 0},
                         {"nodeId", 0},
                         {"stepNum", step->number},
                         {"totalDurationUs", 1e6 * step->seconds()},
                         {"stepBreakdownUs", breakdown}}}}},
                     {"allReduceOpDb", reduces},
                     {"channelDb", json::array()}});
  }
  return {{"hloInfoMap", json::object()},
          {"podStatsSequence", {{"podStatsMap", steps}}},
          {"runEnvironment",
           {{"hostCount", 1},
            {"replicaCount", analysis.replicas},
            {"tpuCoreCount", analysis.replicas},
            {"tpuType", analysis.peaks.name}}}};
}

json workers_of(const Analysis& analysis) {
  json workers = json::array();
  for (const WorkerTimes& worker : analysis.workers) {
    json calls = json::array();
    for (const CallTimes& call : worker.calls) {
      calls.push_back({{"name", call.name},
                       {"count", call.count},
                       {"seconds", call.seconds},
                       {"worker_seconds", call.worker_seconds}});
    }
    workers.push_back({{"address", worker.address},
                       {"host", worker.host},
                       {"problem", worker.problem},
                       {"clock_offset_ns", worker.clock_offset_ns},
                       {"clock_error_ns", worker.clock_error_ns},
                       {"calls", std::move(calls)}});
  }
  return workers;
}

json analysis_page(const tracing::Recording& recording, const Analysis& analysis) {
  json ops = json::array();
  for (const OpTime& op : analysis.ops) ops.push_back(op_row(op, analysis));
  json advice = json::array();
  for (const Advice& a : analysis.advice)
    advice.push_back({{"topic", a.topic}, {"text", a.text}, {"gain", a.gain}});
  const Totals t = totals_of(analysis);
  json threads = json::array();
  for (const tracing::ThreadEvents& thread : recording.threads) {
    threads.push_back({{"name", thread.name},
                       {"id", thread.id},
                       {"events", thread.events.size()},
                       {"dropped", thread.dropped}});
  }
  return {
      {"version", 1},
      {"seconds", analysis.seconds},
      {"start_unix_ns", analysis.start_unix_ns},
      {"problem", analysis.problem},
      {"remark", analysis.remark},
      {"workers", workers_of(analysis)},
      {"peaks",
       {{"name", analysis.peaks.name},
        {"cores", analysis.peaks.cores},
        {"flops_per_second", analysis.peaks.flops_per_second},
        {"bytes_per_second", analysis.peaks.bytes_per_second}}},
      {"replicas", analysis.replicas},
      {"steps", analysis.steps.size()},
      {"launches", analysis.launches},
      {"sampled_steps", analysis.sampled_steps},
      {"dropped_events", analysis.dropped_events},
      {"device_busy", analysis.device_busy()},
      {"step_times", distribution(analysis.step_times())},
      {"parts", parts_of(analysis.parts)},
      {"step_parts", parts_of(parts_in_steps(analysis))},
      {"part_percentiles", part_percentiles(analysis)},
      {"flops_utilization", ratio(ratio(t.flops, t.seconds), analysis.peaks.flops_per_second)},
      {"bandwidth_utilization", ratio(ratio(t.bytes, t.seconds), analysis.peaks.bytes_per_second)},
      {"roofline_utilization", ratio(ratio(t.flops, t.seconds), t.attainable)},
      {"mxu_useful_share", t.padded_flops > 0 ? t.product_flops / t.padded_flops : 1},
      {"ops", ops},
      {"step_rows", steps_of(analysis)},
      {"host", host_rows(analysis)},
      {"inputs", stage_rows(analysis)},
      {"threads", threads},
      {"memory", memory_summary(recording, analysis)},
      {"advice", advice}};
}

std::string text_of(const json& page) {
  return page.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace systole::profile
