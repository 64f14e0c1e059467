#include "systole/tpu_check/compile_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "systole/runtime/memory.h"

namespace systole::tpu_check {
namespace {

constexpr std::array<std::string_view, 5> kVerdicts = {"fits", "too_big", "refused", "crashed",
                                                       "out_of_time"};

std::string amount(int64_t bytes) { return runtime::bytes_text(static_cast<double>(bytes)); }

std::string time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.3g} us", 1e6 * seconds)
                        : fmt::format("{:.4g} ms", 1e3 * seconds);
}

std::string verdict_text(const CompileReport& report) {
  switch (report.verdict) {
    case Verdict::fits:
      return fmt::format(
          "fits: {} of {} (arguments {}, results {} of which {} in their place, "
          "temporaries {}, code {})",
          amount(report.total), amount(report.limit), amount(report.arguments),
          amount(report.results), amount(report.aliased), amount(report.temporaries),
          amount(report.code));
    case Verdict::too_big:
      return report.total == 0 ? fmt::format("does not fit: {}", report.message)
                               : fmt::format("does not fit: {} of {}: {}", amount(report.total),
                                             amount(report.limit), report.message);
    case Verdict::refused:
      return "refuses the program: " + report.message;
    case Verdict::crashed:
      return "crashed, which is its fault and no verdict: " + report.message;
    case Verdict::out_of_time:
      return "was ended: " + report.message +
             "; --effort low takes a third to a half of the time, --time-limit gives it more";
  }
  return "";
}

std::string table_of(const CompileReport& report) {
  std::string text;
  if (!report.largest.empty()) text += "largest arrays at the fullest moment\n";
  for (const CompiledArray& array : report.largest) {
    text += fmt::format("  {:>12}  {:<28}  {}\n", amount(array.bytes), array.type,
                        array.source.empty() ? array.op : array.source);
  }
  if (!report.longest.empty()) text += "most cycles\n";
  for (const CompiledOp& op : report.longest) {
    const std::string times = op.times > 1 ? fmt::format(", {} times", op.times) : "";
    text += fmt::format("  {:>10} {:5.1f} %  {:<16}  {}{}\n",
                        time_text(op.cycles / report.clock_hz), 100 * op.cycles / report.cycles,
                        op.kind, op.source.empty() ? op.op : op.source, times);
  }
  return text;
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  return kVerdicts.at(static_cast<size_t>(verdict));
}

std::string CompileReport::to_string() const {
  std::string text =
      fmt::format("Google's compiler (libtpu{}{}), for {}{}{}:\n  {}\n", version.empty() ? "" : " ",
                  version, system, low_effort ? ", low effort" : "",
                  cached ? ", as compiled before" : fmt::format(", in {:.0f} s", compile_seconds),
                  verdict_text(*this));
  if (cycles > 0) {
    text +=
        fmt::format("  a step of a core: {}, {:.4g} million cycles at {:.2f} GHz{}\n",
                    time_text(seconds()), 1e-6 * cycles, 1e-9 * clock_hz,
                    has_unknown_loops ? "; loops whose number of trips is unknown count once" : "");
  }
  text += table_of(*this);
  if (!saved.empty()) text += fmt::format("executable: {}\n", saved);
  return text;
}

nlohmann::json CompileReport::to_json() const {
  nlohmann::json arrays = nlohmann::json::array();
  for (const CompiledArray& array : largest) {
    arrays.push_back(
        {{"op", array.op}, {"type", array.type}, {"source", array.source}, {"bytes", array.bytes}});
  }
  nlohmann::json ops = nlohmann::json::array();
  for (const CompiledOp& op : longest) {
    ops.push_back({{"op", op.op},
                   {"kind", op.kind},
                   {"type", op.type},
                   {"source", op.source},
                   {"cycles", op.cycles},
                   {"times", op.times}});
  }
  return {{"system", system},
          {"libtpu", version},
          {"verdict", verdict_name(verdict)},
          {"message", message},
          {"bytes",
           {{"arguments", arguments},
            {"results", results},
            {"aliased", aliased},
            {"temporaries", temporaries},
            {"code", code},
            {"total", total},
            {"limit", limit}}},
          {"largest", arrays},
          {"flops", flops},
          {"cycles", cycles},
          {"clock_hz", clock_hz},
          {"core_seconds", seconds()},
          {"has_unknown_loops", has_unknown_loops},
          {"longest", ops},
          {"replicas", replicas},
          {"partitions", partitions},
          {"low_effort", low_effort},
          {"cached", cached},
          {"compile_seconds", compile_seconds},
          {"saved", saved}};
}

CompileReport report_of(const nlohmann::json& json) {
  const nlohmann::json& bytes = json.at("bytes");
  const auto verdict = std::ranges::find(kVerdicts, json.at("verdict").get<std::string>());
  CompileReport report{.system = json.at("system"),
                       .version = json.at("libtpu"),
                       .verdict = static_cast<Verdict>(verdict - kVerdicts.begin()),
                       .message = json.at("message"),
                       .arguments = bytes.at("arguments"),
                       .results = bytes.at("results"),
                       .aliased = bytes.at("aliased"),
                       .temporaries = bytes.at("temporaries"),
                       .code = bytes.at("code"),
                       .total = bytes.at("total"),
                       .limit = bytes.at("limit"),
                       .flops = json.at("flops"),
                       .cycles = json.at("cycles"),
                       .clock_hz = json.at("clock_hz"),
                       .has_unknown_loops = json.at("has_unknown_loops"),
                       .replicas = json.at("replicas"),
                       .partitions = json.at("partitions"),
                       .low_effort = json.at("low_effort"),
                       .compile_seconds = json.at("compile_seconds")};
  for (const nlohmann::json& array : json.at("largest")) {
    report.largest.push_back({.op = array.at("op"),
                              .type = array.at("type"),
                              .source = array.at("source"),
                              .bytes = array.at("bytes")});
  }
  for (const nlohmann::json& op : json.at("longest")) {
    report.longest.push_back({.op = op.at("op"),
                              .kind = op.at("kind"),
                              .type = op.at("type"),
                              .source = op.at("source"),
                              .cycles = op.at("cycles"),
                              .times = op.at("times")});
  }
  return report;
}

}  // namespace systole::tpu_check
