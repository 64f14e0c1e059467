#include <cstddef>

#include "systole/io/records/example.h"
#include "systole/io/wire/varint.h"
#include "systole/io/wire/wire.h"

namespace systole {
namespace {

// Returns a message Feature with an empty list: TensorFlow's form of no values of a kind.
std::string feature_of(FeatureKind kind, std::string_view list) {
  std::string message;
  wire::append_bytes(message, static_cast<uint32_t>(kind), list);
  return message;
}

std::string feature_of(const Values<int64_t>& values) {
  std::string packed;
  for (const int64_t value : values.span()) append_varint64(packed, static_cast<uint64_t>(value));
  std::string list;
  if (!packed.empty()) wire::append_bytes(list, 1, packed);
  return feature_of(FeatureKind::int64s, list);
}

std::string feature_of(const Values<float>& values) {
  const auto bytes = std::as_bytes(values.span());
  std::string list;
  if (!bytes.empty()) {
    wire::append_bytes(list, 1, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return feature_of(FeatureKind::floats, list);
}

std::string feature_of(const Values<std::string_view>& values) {
  std::string list;
  for (const std::string_view value : values.span()) wire::append_bytes(list, 1, value);
  return feature_of(FeatureKind::bytes, list);
}

void append_entry(std::string& out, std::string_view key, std::string_view value) {
  std::string entry;
  entry.reserve(key.size() + value.size() + 16);
  wire::append_bytes(entry, 1, key);
  wire::append_bytes(entry, 2, value);
  wire::append_bytes(out, 1, entry);
}

}  // namespace

ExampleBuilder& ExampleBuilder::int64(std::string_view key, Values<int64_t> values) {
  features_[std::string(key)] = feature_of(values);
  return *this;
}

ExampleBuilder& ExampleBuilder::float32(std::string_view key, Values<float> values) {
  features_[std::string(key)] = feature_of(values);
  return *this;
}

ExampleBuilder& ExampleBuilder::bytes(std::string_view key, Values<std::string_view> values) {
  features_[std::string(key)] = feature_of(values);
  return *this;
}

std::string ExampleBuilder::serialize_features() const {
  std::string features;
  for (const auto& [key, feature] : features_) append_entry(features, key, feature);
  return features;
}

std::string ExampleBuilder::serialize() const {
  std::string example;
  wire::append_bytes(example, 1, serialize_features());
  return example;
}

std::string& SequenceExampleBuilder::list(std::string_view key) { return lists_[std::string(key)]; }

SequenceExampleBuilder& SequenceExampleBuilder::append_int64(std::string_view key,
                                                             Values<int64_t> values) {
  wire::append_bytes(list(key), 1, feature_of(values));
  return *this;
}

SequenceExampleBuilder& SequenceExampleBuilder::append_float32(std::string_view key,
                                                               Values<float> values) {
  wire::append_bytes(list(key), 1, feature_of(values));
  return *this;
}

SequenceExampleBuilder& SequenceExampleBuilder::append_bytes(std::string_view key,
                                                             Values<std::string_view> values) {
  wire::append_bytes(list(key), 1, feature_of(values));
  return *this;
}

std::string SequenceExampleBuilder::serialize() const {
  std::string lists;
  for (const auto& [key, list] : lists_) append_entry(lists, key, list);
  std::string example;
  if (!context_.empty()) wire::append_bytes(example, 1, context_.serialize_features());
  if (!lists_.empty()) wire::append_bytes(example, 2, lists);
  return example;
}

}  // namespace systole
