// TensorBoard's HTTP interface, for scripts that were written for it. Paths and shapes are those of
// http_api.md of TensorBoard and of its plugins. Series are complete: nothing is sampled.
#include <fmt/format.h>

#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "apps/board/blobs.h"
#include "apps/board/board.h"
#include "apps/board/json_text.h"
#include "apps/board/names.h"
#include "apps/board/routes.h"

namespace systole::board {
namespace {

using nlohmann::json;

Response answer_environment(const Board& board, const Request& /*request*/) {
  return {.body = json_text({{"version", "systole " SYSTOLE_VERSION},
                             {"window_title", ""},
                             {"experiment_name", ""},
                             {"experiment_description", ""},
                             {"creation_time", 0},
                             {"data_location", board.logdir().path()}})};
}

Response answer_logdir(const Board& board, const Request& /*request*/) {
  return {.body = json_text({{"logdir", board.logdir().path()}})};
}

Response answer_runs(const Board& board, const Request& /*request*/) {
  std::string names;
  for (const auto& run : board.logdir().runs()) {
    if (!names.empty()) names += ',';
    append_string(names, run->name());
    check_size(names.size(), kMaxMediumBytes);
  }
  return {.body = "[" + names + "]"};
}

bool has_kind(const Board& board, TagKind kind) {
  for (const auto& run : board.logdir().runs()) {
    const auto hold = run->lock();
    for (const TagData& tag : run->tags()) {
      if (tag.kind == kind) return true;
    }
  }
  return false;
}

Response answer_plugins(const Board& board, const Request& /*request*/) {
  json listing = json::object();
  const auto add = [&](const char* name, const char* tab, TagKind kind) {
    listing[name] = {{"enabled", has_kind(board, kind)},
                     {"loading_mechanism", {{"type", "NONE"}}},
                     {"tab_name", tab},
                     {"remove_dom", false},
                     {"disable_reload", false}};
  };
  add("scalars", "Scalars", TagKind::scalars);
  add("histograms", "Histograms", TagKind::histograms);
  add("distributions", "Distributions", TagKind::histograms);
  add("images", "Images", TagKind::images);
  return {.body = json_text(listing)};
}

template <TagKind kind>
Response answer_tags(const Board& board, const Request& /*request*/) {
  json result = json::object();
  size_t bytes = 0;
  for (const auto& run : board.logdir().runs()) {
    const auto hold = run->lock();
    json tags = json::object();
    bytes += run->name().size() + 100;
    for (const TagData& tag : run->tags()) {
      if (tag.kind != kind) continue;
      // The tree has about twice that.
      bytes += 2 * tag.name.size() + tag.display_name.size() + tag.description.size() + 400;
      check_size(bytes, kMaxHeavyBytes);
      tags[tag.name] = {{"displayName", tag.display_name.empty() ? tag.name : tag.display_name},
                        {"description", escape_html(tag.description)}};
      if (kind == TagKind::images) tags[tag.name]["samples"] = 1;
    }
    result[run->name()] = std::move(tags);
  }
  return {.body = json_text(result)};
}

void append_scalars(std::string& out, const ScalarSeries& series) {
  out += '[';
  for (size_t i = 0; i < series.size(); ++i) {
    const ScalarPoint& point = series[i];
    fmt::format_to(std::back_inserter(out), "{}[{},{},", i > 0 ? "," : "", point.wall_time,
                   point.step);
    append_number(out, point.value);
    out += ']';
    check_size(out.size(), kMaxHeavyBytes);
  }
  out += ']';
}

Response answer_scalars_of_run(const Board& board, const Request& request) {
  const auto run = run_of(board, request);
  const auto hold = run->lock();
  const ScalarSeries& series = tag_of(*run, request, TagKind::scalars).scalars;
  Response response;
  if (request.param("format") != "csv") {
    append_scalars(response.body, series);
    return response;
  }
  response.content_type = "text/csv; charset=utf-8";
  response.body = "Wall time,Step,Value\r\n";
  for (size_t i = 0; i < series.size(); ++i) {
    fmt::format_to(std::back_inserter(response.body), "{},{},{}\r\n", series[i].wall_time,
                   series[i].step, series[i].value);
    check_size(response.body.size(), kMaxHeavyBytes);
  }
  return response;
}

Response answer_scalars_multirun(const Board& board, const Request& request) {
  const std::string tag_name = required_param(request, "tag");
  std::string body = "{";
  const auto [begin, end] = request.params.equal_range("runs");
  for (auto it = begin; it != end; ++it) {
    const auto run = board.logdir().find_run(it->second);
    if (!run) continue;
    const auto hold = run->lock();
    const TagData* const tag = run->find_tag(tag_name, TagKind::scalars);
    if (tag == nullptr) continue;
    if (body.size() > 1) body += ',';
    append_string(body, run->name());
    body += ':';
    append_scalars(body, tag->scalars);
  }
  return {.body = body + "}"};
}

// Copies the references of a tag, so that files are read without the lock.
std::vector<BlobRef> blob_refs(const Run& run, const Request& request, TagKind kind) {
  const auto hold = run.lock();
  return tag_of(run, request, kind).blobs;
}

Response answer_histograms(const Board& board, const Request& request) {
  constexpr size_t kMaxHistograms = 500;  // TensorBoard's reservoir
  const auto run = run_of(board, request);
  json result = json::array();
  size_t bytes = 0;
  for (const BlobRef& ref : spread(blob_refs(*run, request, TagKind::histograms), kMaxHistograms)) {
    json buckets = json::array();
    for (const HistogramBucket& b : read_histogram(*run, ref)) {
      buckets.push_back({json_number(b.left), json_number(b.right), json_number(b.count)});
    }
    bytes += 150 * buckets.size();
    check_size(bytes, kMaxHeavyBytes);
    result.push_back({ref.wall_time, ref.step, std::move(buckets)});
  }
  return {.body = json_text(result)};
}

Response answer_distributions(const Board& board, const Request& request) {
  constexpr size_t kMaxHistograms = 500;
  const auto run = run_of(board, request);
  json result = json::array();
  for (const BlobRef& ref : spread(blob_refs(*run, request, TagKind::histograms), kMaxHistograms)) {
    json points = json::array();
    for (const auto& [basis_points, value] : compress_histogram(read_histogram(*run, ref))) {
      points.push_back({basis_points, json_number(value)});
    }
    result.push_back({ref.wall_time, ref.step, std::move(points)});
  }
  return {.body = json_text(result)};
}

Response answer_images(const Board& board, const Request& request) {
  const auto run = run_of(board, request);
  const std::vector<BlobRef> refs = blob_refs(*run, request, TagKind::images);
  const std::string tag = request.param("tag");
  json result = json::array();
  size_t bytes = 0;
  for (size_t i = 0; i < refs.size(); ++i) {
    const std::string query = fmt::format("run={}&tag={}&sample=0&index={}",
                                          percent_encode(run->name()), percent_encode(tag), i);
    bytes += query.size() + 200;
    check_size(bytes, kMaxHeavyBytes);
    json row = {{"wall_time", refs[i].wall_time}, {"step", refs[i].step}, {"query", query}};
    if (refs.size() <= 1000) {
      const ImageBlob image = read_image(*run, refs[i]);
      row["width"] = image.width;
      row["height"] = image.height;
    }
    result.push_back(std::move(row));
  }
  return {.body = json_text(result)};
}

}  // namespace

std::vector<Route> tensorboard_routes() {
  return {
      {"/data/environment", "GET", answer_environment, Work::quick},
      {"/data/logdir", "GET", answer_logdir, Work::quick},
      {"/data/runs", "GET", answer_runs, Work::medium},
      {"/data/plugins_listing", "GET", answer_plugins, Work::quick},
      {"/data/plugin/scalars/tags", "GET", answer_tags<TagKind::scalars>},
      {"/data/plugin/scalars/scalars", "GET", answer_scalars_of_run},
      {"/data/plugin/scalars/scalars_multirun", "POST", answer_scalars_multirun},
      {"/data/plugin/histograms/tags", "GET", answer_tags<TagKind::histograms>},
      {"/data/plugin/histograms/histograms", "GET", answer_histograms},
      {"/data/plugin/distributions/tags", "GET", answer_tags<TagKind::histograms>},
      {"/data/plugin/distributions/distributions", "GET", answer_distributions},
      {"/data/plugin/images/tags", "GET", answer_tags<TagKind::images>},
      {"/data/plugin/images/images", "GET", answer_images},
      {"/data/plugin/images/individualImage", "GET", answer_image},
  };
}

}  // namespace systole::board
