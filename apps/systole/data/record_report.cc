// RecordSummary as text and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "apps/systole/data/record_summary.h"

namespace systole::app {
namespace {

constexpr size_t kMaxShown = 12;

std::string images_text(const FeatureSummary& feature) {
  std::string text;
  for (const auto& [format, count] : feature.images) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, image_format_name(format));
  }
  const auto range = [](const NumberStats& stats) {
    return stats.min == stats.max ? fmt::format("{}", stats.min)
                                  : fmt::format("{}..{}", stats.min, stats.max);
  };
  return fmt::format("{} of {} x {}", text, range(feature.heights), range(feature.widths));
}

// "7: 6265, 3: 6131": the most frequent first.
std::string distinct_text(const std::map<std::string, int64_t>& distinct) {
  std::vector<std::pair<std::string, int64_t>> rows(distinct.begin(), distinct.end());
  std::ranges::stable_sort(rows, std::greater<>(), &std::pair<std::string, int64_t>::second);
  const size_t shown = std::min(rows.size(), kMaxShown);
  std::string text = fmt::format("{} distinct (", rows.size());
  for (size_t i = 0; i < shown; ++i) {
    text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", rows[i].first, rows[i].second);
  }
  return text + (shown < rows.size() ? ", ...)" : ")");
}

std::string statistics_text(const FeatureSummary& feature) {
  if (!feature.images.empty()) return images_text(feature);
  const NumberStats& numbers = feature.numbers;
  std::string text;
  if (numbers.count > 0) {
    const bool bytes = feature.kinds.contains(FeatureKind::bytes);
    text = fmt::format("{}{:g} to {:g}, mean {:.4g}", bytes ? "bytes: " : "", numbers.min,
                       numbers.max, numbers.mean);
    if (!bytes) text += fmt::format(", deviation {:.4g}", numbers.deviation());
  }
  if (numbers.not_finite > 0) {
    text += fmt::format("{}{} not finite", text.empty() ? "" : ", ", numbers.not_finite);
  }
  // Values that hardly repeat tell nothing by their counts.
  const auto distinct = static_cast<int64_t>(feature.distinct.size());
  if (!feature.too_many && distinct > 0 && 2 * distinct <= numbers.count) {
    text += "; " + distinct_text(feature.distinct);
  }
  return text;
}

nlohmann::ordered_json stats_json(const NumberStats& stats) {
  nlohmann::ordered_json json = {{"count", stats.count}};
  if (stats.count > 0) {
    json["min"] = stats.min;
    json["max"] = stats.max;
    json["mean"] = stats.mean;
    json["deviation"] = stats.deviation();
  }
  if (stats.not_finite > 0) json["not_finite"] = stats.not_finite;
  return json;
}

}  // namespace

std::string RecordSummary::to_text() const {
  std::string text = fmt::format("records   {}\n", records_);
  if (records_ == 0) return text;
  text += fmt::format("bytes     {:.0f} to {:.0f} a record, mean {:.1f}\n", sizes_.min, sizes_.max,
                      sizes_.mean);
  text += fmt::format("messages  {}\n", record_kind_name(kind_));
  if (other_kinds_ > 0) text += fmt::format("          {} records are none\n", other_kinds_);
  if (features_.empty()) return text;
  size_t width = 0;
  for (const auto& [key, feature] : features_) width = std::max(width, key.size());
  text += "features\n";
  for (const auto& [key, feature] : features_) {
    const std::string missing =
        feature.records < records_ && kind_ == RecordKind::example
            ? fmt::format("in {} of {} records; ", feature.records, records_)
            : "";
    text += fmt::format("  {:<{}}  {:<6} {:<8} {}{}\n", key, width, feature.type(), feature.shape(),
                        missing, statistics_text(feature));
  }
  return text;
}

nlohmann::ordered_json RecordSummary::to_json() const {
  nlohmann::ordered_json json = {{"records", records_},
                                 {"kind", record_kind_name(kind_)},
                                 {"record_bytes", stats_json(sizes_)}};
  if (other_kinds_ > 0) json["of_another_kind"] = other_kinds_;
  nlohmann::ordered_json features = nlohmann::ordered_json::object();
  for (const auto& [key, feature] : features_) {
    nlohmann::ordered_json& row = features[key];
    row = {{"type", feature.type()}, {"records", feature.records}};
    row["values_a_record"] = {feature.least_values, feature.most_values};
    const bool bytes = feature.kinds.contains(FeatureKind::bytes);
    row[bytes ? "lengths" : "values"] = stats_json(feature.numbers);
    if (!feature.too_many && !feature.distinct.empty()) row["distinct"] = feature.distinct;
    for (const auto& [format, count] : feature.images) {
      row["images"][std::string(image_format_name(format))] = count;
    }
    if (!feature.images.empty()) {
      row["heights"] = stats_json(feature.heights);
      row["widths"] = stats_json(feature.widths);
    }
  }
  json["features"] = std::move(features);
  return json;
}

}  // namespace systole::app
