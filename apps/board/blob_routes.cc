// HTTP routes that return the histograms, images, texts and precision-recall curves of a run.
#include <fmt/format.h>

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

constexpr size_t kMaxTextBytes = 200'000;
constexpr size_t kMaxTexts = 100'000;

// Parses a parameter that is a number without a sign.
size_t index_param(const Request& request, const std::string& name, size_t otherwise) {
  if (!request.has(name)) return otherwise;
  const std::string text = request.param(name);
  if (text.empty() || text.size() > 9 ||
      text.find_first_not_of("0123456789") != std::string::npos) {
    throw RequestError{400, fmt::format("The parameter '{}' must be a number.", name)};
  }
  return std::stoul(text);
}

// A JSON tree has many times the bytes of its text.
void check_numbers(size_t count) {
  constexpr size_t kMaxNumbers = 500'000;
  if (count <= kMaxNumbers) return;
  throw RequestError{
      413, fmt::format("The answer has more than {} numbers: ask for less of it.", kMaxNumbers)};
}

std::vector<BlobRef> refs_of(const Run& run, const Request& request, TagKind kind) {
  const auto hold = run.lock();
  return tag_of(run, request, kind).blobs;
}

// The histograms of a tag over the steps, at most `most`, with their percentiles.
Response answer_histogram_series(const Board& board, const Request& request) {
  const auto run = run_of(board, request);
  const std::vector<BlobRef> refs = refs_of(*run, request, TagKind::histograms);
  const size_t most = std::clamp<size_t>(index_param(request, "most", 60), 2, 500);
  json rows = json::array();
  size_t numbers = 0;
  for (const BlobRef& ref : spread(refs, most)) {
    const std::vector<HistogramBucket> buckets = read_histogram(*run, ref);
    numbers += 3 * buckets.size();
    check_numbers(numbers);
    json list = json::array();
    for (const HistogramBucket& b : buckets) {
      list.push_back({json_number(b.left), json_number(b.right), json_number(b.count)});
    }
    json percentiles = json::array();
    for (const auto& [basis_points, value] : compress_histogram(buckets)) {
      percentiles.push_back(json_number(value));
    }
    rows.push_back({{"step", ref.step},
                    {"wall", ref.wall_time},
                    {"buckets", std::move(list)},
                    {"percentiles", std::move(percentiles)}});
  }
  return {.body = json_text({{"total", refs.size()}, {"rows", std::move(rows)}})};
}

// The steps of the images of a tag; the bytes are at individualImage.
Response answer_image_series(const Board& board, const Request& request) {
  const auto run = run_of(board, request);
  json rows = json::array();
  for (const BlobRef& ref : refs_of(*run, request, TagKind::images)) {
    rows.push_back({ref.step, ref.wall_time});
  }
  return {.body = json_text(rows)};
}

// The newest texts of a tag, at most `most`.
Response answer_text_series(const Board& board, const Request& request) {
  const auto run = run_of(board, request);
  const std::vector<BlobRef> refs = refs_of(*run, request, TagKind::text);
  const size_t most = std::clamp<size_t>(index_param(request, "most", 10), 1, 1000);
  json rows = json::array();
  size_t all_bytes = 0;
  for (size_t i = refs.size() - std::min(most, refs.size()); i < refs.size(); ++i) {
    const auto [strings, dims] = read_text(*run, refs[i]);
    json list = json::array();
    size_t bytes = 0;
    for (const std::string& text : strings) {
      list.push_back(safe_text(text, kMaxTextBytes));
      bytes += text.size();
      if (bytes > kMaxTextBytes || list.size() > kMaxTexts) break;
    }
    all_bytes += bytes + 50 * list.size();
    check_size(all_bytes, kMaxMediumBytes);
    rows.push_back({{"step", refs[i].step},
                    {"wall", refs[i].wall_time},
                    {"shape", dims},
                    {"texts", std::move(list)}});
  }
  return {.body = json_text({{"total", refs.size()}, {"rows", std::move(rows)}})};
}

json numbers(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values) list.push_back(json_number(value));
  return list;
}

// The precision-recall curves of a tag, at most `most`.
Response answer_pr_curves(const Board& board, const Request& request) {
  const auto run = run_of(board, request);
  const std::vector<BlobRef> refs = refs_of(*run, request, TagKind::pr_curves);
  json rows = json::array();
  size_t count = 0;
  for (const BlobRef& ref : spread(refs, 100)) {
    const PrCurve curve = read_pr_curve(*run, ref);
    count += 6 * curve.precision.size();
    check_numbers(count);
    rows.push_back({{"step", ref.step},
                    {"wall", ref.wall_time},
                    {"precision", numbers(curve.precision)},
                    {"recall", numbers(curve.recall)},
                    {"true_positives", numbers(curve.true_positives)},
                    {"false_positives", numbers(curve.false_positives)}});
  }
  return {.body = json_text({{"total", refs.size()}, {"rows", std::move(rows)}})};
}

}  // namespace

Response answer_image(const Board& board, const Request& request) {
  const auto run = run_of(board, request);
  const std::vector<BlobRef> refs = refs_of(*run, request, TagKind::images);
  const size_t index = index_param(request, "index", refs.size() - 1);
  if (index >= refs.size()) {
    throw RequestError{404, fmt::format("There is no image {}, only {}.", index, refs.size())};
  }
  ImageBlob image = read_image(*run, refs[index]);
  const std::string_view type = image_type(image.bytes);
  return {.content_type = std::string(type), .body = std::move(image.bytes)};
}

std::vector<Route> blob_routes() {
  return {{"/api/histograms", "GET", answer_histogram_series},
          {"/api/images", "GET", answer_image_series},
          {"/api/text", "GET", answer_text_series},
          {"/api/pr_curves", "GET", answer_pr_curves}};
}

}  // namespace systole::board
