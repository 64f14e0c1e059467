#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "systole/base/suggest.h"
#include "systole/io/records/example.h"
#include "systole/io/wire/wire.h"

namespace systole {
namespace {

using wire::Type;

constexpr size_t kMaxNamedKeys = 20;  // in a message

struct MapEntry {
  std::string_view key;
  std::string_view value;
  bool complete = false;  // both are there, and nothing else
};

MapEntry parse_entry(std::string_view message, const char* base) {
  MapEntry entry;
  int values = 0;
  bool unknown = false;
  wire::Reader field(message, base);
  while (field.next()) {
    if (field.is(1, Type::bytes)) {
      entry.key = field.bytes();
    } else if (field.is(2, Type::bytes)) {
      entry.value = field.bytes();
      ++values;
    } else {
      field.skip();
      unknown = true;
    }
  }
  entry.complete = values == 1 && !unknown;
  return entry;
}

template <class T>
constexpr FeatureKind kKindOf = FeatureKind::bytes;
template <>
constexpr FeatureKind kKindOf<int64_t> = FeatureKind::int64s;
template <>
constexpr FeatureKind kKindOf<float> = FeatureKind::floats;

}  // namespace

void ExampleView::parse(std::string_view serialized) {
  entries_.clear();
  begin_ = serialized.data();
  unknown_ = false;
  try {
    wire::Reader field(serialized);
    while (field.next()) {
      if (field.is(1, Type::bytes)) {
        add_features(field.bytes());
      } else {
        field.skip();
        unknown_ = true;
      }
    }
  } catch (const Error&) {
    entries_.clear();
    throw;
  }
}

void ExampleView::parse_features(std::string_view message) {
  entries_.clear();
  begin_ = message.data();
  unknown_ = false;
  add_features(message);
}

void ExampleView::add_features(std::string_view message) {
  wire::Reader field(message, begin_);
  while (field.next()) {
    if (!field.is(1, Type::bytes)) {
      field.skip();
      unknown_ = true;
      continue;
    }
    const MapEntry entry = parse_entry(field.bytes(), begin_);
    unknown_ |= !entry.complete;
    try {
      entries_.push_back({entry.key, FeatureView::parse(entry.value)});
    } catch (const Error& error) {
      throw invalid_argument("example: feature '{}': {}", entry.key, error.message());
    }
  }
}

const FeatureView* ExampleView::find(std::string_view key) const {
  for (size_t i = entries_.size(); i-- > 0;) {
    if (entries_[i].key == key) return &entries_[i].feature;
  }
  return nullptr;
}

template <class T>
bool ExampleView::read_fixed(std::string_view key, std::span<T> out) const {
  const FeatureView* feature = find(key);
  // TensorFlow treats a feature without a kind as missing.
  if (feature == nullptr || feature->kind() == FeatureKind::none) return false;
  if (feature->kind() != kKindOf<T>) {
    throw invalid_argument("example: feature '{}': type, got {}, expected {}", key,
                           feature_kind_name(feature->kind()), feature_kind_name(kKindOf<T>));
  }
  int64_t count = 0;
  try {
    count = feature->copy(out);
  } catch (const Error& error) {
    throw invalid_argument("example: feature '{}': {}", key, error.message());
  }
  if (count != static_cast<int64_t>(out.size())) {
    throw invalid_argument("example: feature '{}': number of {} values, got {}, expected {}", key,
                           feature_kind_name(kKindOf<T>), count, out.size());
  }
  return true;
}

template bool ExampleView::read_fixed(std::string_view, std::span<int64_t>) const;
template bool ExampleView::read_fixed(std::string_view, std::span<float>) const;
template bool ExampleView::read_fixed(std::string_view, std::span<std::string_view>) const;

template <class T>
T ExampleView::read_one(std::string_view key) const {
  std::array<T, 1> value{};
  if (!read_fixed(key, std::span<T>(value))) throw missing(key);
  return value[0];
}

int64_t ExampleView::int64(std::string_view key) const { return read_one<int64_t>(key); }
float ExampleView::float32(std::string_view key) const { return read_one<float>(key); }
std::string_view ExampleView::bytes(std::string_view key) const {
  return read_one<std::string_view>(key);
}

Error ExampleView::missing(std::string_view key) const {
  std::vector<std::string> keys;
  for (const Entry& entry : entries_) keys.emplace_back(entry.key);
  const FeatureView* feature = find(key);
  const std::string suggestion = feature == nullptr ? did_you_mean(key, keys) : "";
  const bool more = keys.size() > kMaxNamedKeys;
  keys.resize(std::min(keys.size(), kMaxNamedKeys));
  return not_found("example: feature '{}', got {}, expected it among '{}'{}{}", key,
                   feature == nullptr ? "none of that name" : "one without values",
                   fmt::join(keys, "', '"), more ? ", ..." : "", suggestion);
}

void SequenceExampleView::parse(std::string_view serialized) {
  context_.parse_features({});
  lists_.clear();
  features_.clear();
  unknown_ = false;
  wire::Reader field(serialized);
  while (field.next()) {
    if (field.is(1, Type::bytes)) {
      context_.parse_features(field.bytes());
    } else if (field.is(2, Type::bytes)) {
      wire::Reader list(field.bytes(), serialized.data());
      while (list.next()) {
        if (list.is(1, Type::bytes)) {
          add_list(list.bytes());
        } else {
          list.skip();
          unknown_ = true;
        }
      }
    } else {
      field.skip();
      unknown_ = true;
    }
  }
}

void SequenceExampleView::add_list(std::string_view message) {
  const MapEntry entry = parse_entry(message, message.data());
  unknown_ |= !entry.complete;
  List list{.key = entry.key, .begin = features_.size(), .size = 0};
  try {
    wire::Reader field(entry.value);
    while (field.next()) {
      if (field.is(1, Type::bytes)) {
        features_.push_back(FeatureView::parse(field.bytes()));
      } else {
        field.skip();
        unknown_ = true;
      }
    }
  } catch (const Error& error) {
    throw invalid_argument("sequence example: feature list '{}': {}", entry.key, error.message());
  }
  list.size = features_.size() - list.begin;
  lists_.push_back(list);
}

std::optional<std::span<const FeatureView>> SequenceExampleView::find(std::string_view key) const {
  for (size_t i = lists_.size(); i-- > 0;) {
    if (lists_[i].key == key) return features(lists_[i]);
  }
  return std::nullopt;
}

}  // namespace systole
