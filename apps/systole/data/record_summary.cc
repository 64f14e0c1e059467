#include "apps/systole/data/record_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "systole/io/wire/wire.h"

namespace systole::app {
namespace {

constexpr size_t kMaxDistinct = 100;
constexpr size_t kLongestText = 30;

// Whether the bytes are a message of one of these kinds and nothing else.
template <class View>
bool parses(std::string_view record) {
  try {
    return !View(record).has_unknown_fields();
  } catch (const Error&) {
    return false;
  }
}

bool printable(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
}

bool is_example_list(std::string_view record) {
  try {
    wire::Reader field(record);
    int64_t examples = 0;
    while (field.next()) {
      if (field.type() != wire::Type::bytes || field.number() > 2) return false;
      examples += field.number() == 1 ? 1 : 0;
      if (!parses<ExampleView>(field.bytes())) return false;
    }
    return examples > 0;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void NumberStats::add(double value) {
  if (!std::isfinite(value)) {
    ++not_finite;
    return;
  }
  ++count;
  min = std::min(min, value);
  max = std::max(max, value);
  const double before = value - mean;
  mean += before / static_cast<double>(count);
  squares += before * (value - mean);
}

double NumberStats::deviation() const {
  return count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count));
}

void FeatureSummary::add_distinct(std::string value) {
  if (too_many) return;
  ++distinct[std::move(value)];
  if (distinct.size() <= kMaxDistinct) return;
  too_many = true;
  distinct.clear();
}

void FeatureSummary::add_bytes(std::string_view value) {
  numbers.add(static_cast<double>(value.size()));
  const ImageFormat format = sniff_image(value);
  if (value.size() <= kLongestText && printable(value)) {
    add_distinct(std::string(value));
  } else {
    too_many = true;
    distinct.clear();
  }
  if (format != ImageFormat::jpeg && format != ImageFormat::png) return;
  try {
    const ImageInfo info = read_image_info(value);
    ++images[format];
    heights.add(static_cast<double>(info.height));
    widths.add(static_cast<double>(info.width));
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): bytes that only begin like an image
  }
}

void FeatureSummary::add(const FeatureView& feature) {
  ++kinds[feature.kind()];
  ++records;
  int64_t count = 0;
  std::vector<std::string_view> bytes;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  switch (feature.kind()) {
    case FeatureKind::none:
      break;
    case FeatureKind::bytes:
      feature.append_to(bytes);
      for (const std::string_view value : bytes) add_bytes(value);
      count = static_cast<int64_t>(bytes.size());
      break;
    case FeatureKind::floats:
      feature.append_to(floats);
      for (const float value : floats) numbers.add(value);
      count = static_cast<int64_t>(floats.size());
      break;
    case FeatureKind::int64s:
      feature.append_to(ints);
      for (const int64_t value : ints) {
        numbers.add(static_cast<double>(value));
        if (!too_many) add_distinct(fmt::format("{}", value));
      }
      count = static_cast<int64_t>(ints.size());
      break;
  }
  least_values = std::min(least_values, count);
  most_values = std::max(most_values, count);
}

std::string FeatureSummary::type() const {
  std::string text;
  for (const auto& [kind, count] : kinds) {
    if (kind == FeatureKind::none && kinds.size() > 1) continue;
    text += fmt::format("{}{}", text.empty() ? "" : " or ", feature_kind_name(kind));
  }
  return text;
}

std::string FeatureSummary::shape() const {
  if (least_values == 1 && most_values == 1) return "[]";
  if (least_values == most_values) return fmt::format("[{}]", most_values);
  return fmt::format("[{}..{}]", least_values, most_values);
}

std::string_view record_kind_name(RecordKind kind) {
  constexpr std::string_view kNames[] = {"unknown", "tf.train.Example", "tf.train.SequenceExample",
                                         "ExampleListWithContext"};
  return kNames[static_cast<size_t>(kind)];
}

RecordKind kind_of_record(std::string_view record) {
  if (record.empty()) return RecordKind::unknown;
  if (parses<ExampleView>(record)) return RecordKind::example;
  if (parses<SequenceExampleView>(record)) return RecordKind::sequence_example;
  if (is_example_list(record)) return RecordKind::example_list;
  return RecordKind::unknown;
}

void RecordSummary::add(std::string_view record) {
  ++records_;
  sizes_.add(static_cast<double>(record.size()));
  if (records_ == 1) kind_ = kind_of_record(record);
  try {
    switch (kind_) {
      case RecordKind::unknown:
        break;
      case RecordKind::example:
        example_.parse(record);
        add_example(example_, "");
        break;
      case RecordKind::sequence_example:
        sequence_.parse(record);
        add_sequence(sequence_);
        break;
      case RecordKind::example_list:
        add_example_list(record);
        break;
    }
  } catch (const Error&) {
    ++other_kinds_;
  }
}

void RecordSummary::add_example(const ExampleView& view, const std::string& prefix) {
  for (const auto& [key, feature] : view.entries()) {
    features_[prefix + std::string(key)].add(feature);
  }
}

void RecordSummary::add_sequence(const SequenceExampleView& view) {
  add_example(view.context(), "context/");
  for (const auto& list : view.lists()) {
    FeatureSummary& summary = features_["lists/" + std::string(list.key)];
    for (const FeatureView& feature : view.features(list)) summary.add(feature);
  }
}

void RecordSummary::add_example_list(std::string_view record) {
  wire::Reader field(record);
  while (field.next()) {
    const bool context = field.number() == 2;
    example_.parse(field.bytes());
    add_example(example_, context ? "context/" : "examples/");
  }
}

}  // namespace systole::app
