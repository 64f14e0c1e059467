// The table of hyperparameters and results.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "apps/board/board.h"
#include "apps/board/json_text.h"
#include "apps/board/routes.h"

namespace systole::board {
namespace {

using nlohmann::json;

constexpr size_t kMaxMetrics = 50;

json hparam_json(const Hparam& hparam) {
  switch (hparam.kind) {
    case Hparam::Kind::number:
      return json_number(hparam.number);
    case Hparam::Kind::boolean:
      return hparam.number != 0;
    case Hparam::Kind::text:
      break;
  }
  return {{"text", hparam.text}};
}

// The last, least and greatest finite value of a series.
json metric_json(const ScalarSeries& series) {
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (size_t i = 0; i < series.size(); ++i) {
    const double value = series[i].value;
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  return {{"last", json_number(series.back().value)},
          {"min", json_number(least)},
          {"max", json_number(most)},
          {"step", series.back().step}};
}

// The body names the metrics: {"tags": ["loss", "accuracy"]}. Only runs with hyperparameters or one
// of the metrics are in the answer.
Response answer_hparams(const Board& board, const Request& request) {
  const json body = json::parse(request.body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object() || !body.contains("tags") || !body["tags"].is_array() ||
      body["tags"].size() > kMaxMetrics) {
    throw RequestError{
        400, fmt::format("The body must be JSON: {{\"tags\": [...]}}, at most {}.", kMaxMetrics)};
  }
  std::string rows;
  for (const auto& run : board.logdir().runs()) {
    const auto hold = run->lock();
    json hparams = json::object();
    for (const auto& [name, hparam] : run->hparams()) hparams[name] = hparam_json(hparam);
    json metrics = json::object();
    for (const json& tag_name : body["tags"]) {
      if (!tag_name.is_string()) continue;
      const auto name = tag_name.get<std::string>();
      const TagData* const tag = run->find_tag(name, TagKind::scalars);
      if (tag != nullptr && !tag->scalars.empty()) metrics[name] = metric_json(tag->scalars);
    }
    if (hparams.empty() && metrics.empty()) continue;
    if (!rows.empty()) rows += ',';
    rows += json_text({{"run", run->id()}, {"hparams", hparams}, {"metrics", metrics}});
    check_size(rows.size(), kMaxMediumBytes);
  }
  return {.body = "{\"rows\":[" + rows + "]}"};
}

}  // namespace

std::vector<Route> hparam_routes() {
  return {{"/api/hparams", "POST", answer_hparams, Work::medium}};
}

}  // namespace systole::board
