// Charts of scalars.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "apps/board/board.h"
#include "apps/board/downsample.h"
#include "apps/board/json_text.h"
#include "apps/board/routes.h"

namespace systole::board {
namespace {

using nlohmann::json;

constexpr size_t kMaxRunsOfChart = 2000;
constexpr int kMaxBucketsOfChart = 100'000;  // of all its runs

struct ChartRequest {
  std::string tag;
  std::vector<size_t> runs;  // ids
  std::string x = "step";    // step, relative, wall, or tag:<name of a scalar>
  ChartOptions options;
};

double number_field(const json& body, const char* name, double otherwise) {
  const auto found = body.find(name);
  return found != body.end() && found->is_number() ? found->get<double>() : otherwise;
}

ChartRequest parse_chart_request(const std::string& text) {
  const json body = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object() || !body.contains("tag") || !body["tag"].is_string() ||
      !body.contains("runs") || !body["runs"].is_array()) {
    throw RequestError{400, "The body must be JSON: {\"tag\": \"loss\", \"runs\": [0, 1], ...}."};
  }
  ChartRequest request{.tag = body["tag"].get<std::string>()};
  for (const json& id : body["runs"]) {
    if (!id.is_number_unsigned()) throw RequestError{400, "'runs' must be a list of run ids."};
    request.runs.push_back(id.get<size_t>());
  }
  if (request.runs.size() > kMaxRunsOfChart) {
    throw RequestError{400, fmt::format("A chart has at most {} runs.", kMaxRunsOfChart)};
  }
  if (body.contains("x") && body["x"].is_string()) request.x = body["x"].get<std::string>();
  ChartOptions& options = request.options;
  options.x_min = number_field(body, "from", options.x_min);
  options.x_max = number_field(body, "to", options.x_max);
  options.buckets =
      static_cast<int>(std::clamp(number_field(body, "points", options.buckets), 1.0, 10000.0));
  const int share = kMaxBucketsOfChart / std::max(static_cast<int>(request.runs.size()), 1);
  options.buckets = std::min(options.buckets, share);
  options.smoothing = std::clamp(number_field(body, "smoothing", 0), 0.0, 0.9999);
  options.log_x = body.contains("log_x") && body["log_x"] == true;
  return request;
}

// Maps a step to the value of another scalar at that step, or the last one before.
class StepLookup {
 public:
  // Takes evenly spread points of a longer series.
  explicit StepLookup(const ScalarSeries& series) {
    constexpr size_t kMaxPoints = 100'000;
    const size_t stride = series.size() / kMaxPoints + 1;
    points_.reserve(series.size() / stride + 1);
    for (size_t i = 0; i < series.size(); i += stride) points_.push_back(series[i]);
    std::ranges::stable_sort(points_, {}, &ScalarPoint::step);
  }
  double at(int64_t step) const {
    const auto after = std::ranges::upper_bound(points_, step, {}, &ScalarPoint::step);
    return after == points_.begin() ? points_.front().value : std::prev(after)->value;
  }

 private:
  std::vector<ScalarPoint> points_;
};

// Returns the function for the x axis; empty if the run lacks the scalar on that axis.
std::function<double(const ScalarPoint&)> x_axis(const Run& run, const std::string& x) {
  if (x == "step") return [](const ScalarPoint& point) { return double(point.step); };
  if (x == "wall") return [](const ScalarPoint& point) { return point.wall_time; };
  if (x == "relative") {
    const double start = run.facts().first_wall_time;
    return [start](const ScalarPoint& point) { return point.wall_time - start; };
  }
  if (!x.starts_with("tag:"))
    throw RequestError{400, "'x' must be step, relative, wall or tag:..."};
  const TagData* const tag = run.find_tag(x.substr(4), TagKind::scalars);
  if (tag == nullptr || tag->scalars.empty()) return {};
  return [lookup = StepLookup(tag->scalars)](const ScalarPoint& point) {
    return lookup.at(point.step);
  };
}

template <class Field>
void append_array(std::string& out, const char* name, const Chart& chart, const Field& field) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":[", name);
  for (size_t i = 0; i < chart.points.size(); ++i) {
    if (i > 0) out += ',';
    append_number(out, field(chart.points[i]));
  }
  out += ']';
}

void append_series(std::string& out, const Run& run, const ChartRequest& request) {
  const auto hold = run.lock();
  const TagData* const tag = run.find_tag(request.tag, TagKind::scalars);
  if (tag == nullptr || tag->scalars.empty()) return;
  const auto x_of = x_axis(run, request.x);
  if (!x_of) return;
  const Chart chart = make_chart(tag->scalars, x_of, request.options);
  if (out.back() != '[') out += ',';
  const ScalarPoint& last = tag->scalars.back();
  fmt::format_to(std::back_inserter(out),
                 "{{\"run\":{},\"total\":{},\"kept\":{},\"all\":{},\"last_step\":{},\"last\":",
                 run.id(), tag->scalars.total(), tag->scalars.size(), chart.all, last.step);
  append_number(out, last.value);
  out += ",\"segments\":[";
  for (size_t s = 0; s < chart.segments.size(); ++s) {
    const ChartSegment& segment = chart.segments[s];
    const bool ends = segment.superseded_from != std::numeric_limits<int64_t>::max();
    fmt::format_to(std::back_inserter(out), "{}[{},{}]", s > 0 ? "," : "", segment.begin,
                   ends ? fmt::format("{}", segment.superseded_from) : "null");
  }
  out += ']';
  append_array(out, "x", chart, [](const ChartPoint& p) { return p.x; });
  if (request.x != "step") {
    append_array(out, "step", chart, [](const ChartPoint& p) { return double(p.point.step); });
  }
  if (request.x != "wall") {
    append_array(out, "wall", chart, [](const ChartPoint& p) { return p.point.wall_time; });
  }
  append_array(out, "y", chart, [](const ChartPoint& p) { return p.point.value; });
  if (request.options.smoothing > 0) {
    append_array(out, "smooth", chart, [](const ChartPoint& p) { return p.smoothed; });
  }
  out += '}';
}

Response answer_scalars(const Board& board, const Request& request) {
  const ChartRequest chart = parse_chart_request(request.body);
  std::string body = "{\"tag\":";
  append_string(body, chart.tag);
  body += ",\"series\":[";
  for (const size_t id : chart.runs) {
    const std::shared_ptr<Run> run = board.logdir().run(id);
    if (run) append_series(body, *run, chart);
    check_size(body.size(), kMaxMediumBytes);
  }
  body += "]}";
  return {.body = std::move(body)};
}

// Quotes a field of CSV.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// All points of a tag: ?tag=loss&runs=0,1,2.
Response answer_csv(const Board& board, const Request& request) {
  const std::string tag_name = required_param(request, "tag");
  std::string body = "run,wall_time,step,value\n";
  std::string ids = required_param(request, "runs");
  for (size_t begin = 0; begin <= ids.size();) {
    const size_t end = std::min(ids.find(',', begin), ids.size());
    const std::string id = ids.substr(begin, end - begin);
    begin = end + 1;
    if (id.empty() || id.size() > 9 || id.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    const std::shared_ptr<Run> run = board.logdir().run(std::stoul(id));
    if (!run) continue;
    const auto hold = run->lock();
    const TagData* const tag = run->find_tag(tag_name, TagKind::scalars);
    if (tag == nullptr) continue;
    const std::string name = csv_field(run->name());
    for (size_t i = 0; i < tag->scalars.size(); ++i) {
      const ScalarPoint& point = tag->scalars[i];
      fmt::format_to(std::back_inserter(body), "{},{},{},{}\n", name, point.wall_time, point.step,
                     point.value);
      check_size(body.size(), kMaxHeavyBytes);
    }
  }
  return {.content_type = "text/csv; charset=utf-8", .body = std::move(body)};
}

}  // namespace

std::vector<Route> scalar_routes() {
  return {{"/api/scalars", "POST", answer_scalars, Work::medium},
          {"/api/scalars.csv", "GET", answer_csv, Work::heavy}};
}

}  // namespace systole::board
