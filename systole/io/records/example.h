// tf.train.Example and SequenceExample, the messages of training records. Read in place from their
// serialized bytes, and built, without protobuf objects.
//   Example         := features:1 Features
//   Features        := feature:1 (key:1 string, value:2 Feature)*      a map: the last of a key
//   Feature         := bytes_list:1 (value:1 bytes)* | float_list:2 (value:1 float)*
//                    | int64_list:3 (value:1 int64)* | nothing
//   SequenceExample := context:1 Features, feature_lists:2 FeatureLists
//   FeatureLists    := feature_list:1 (key:1 string, value:2 FeatureList)*
//   FeatureList     := feature:1 Feature*
// Reads packed and unpacked numbers, writes packed ones. Skips other fields.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/error.h"

namespace systole {

enum class FeatureKind : uint8_t { none, bytes, floats, int64s };
// Returns "no values", "bytes", "float" or "int64".
std::string_view feature_kind_name(FeatureKind kind);

// The values of one feature, in the record's bytes, which must outlive it. Errors of its methods:
// INVALID_ARGUMENT for bytes that are not values of its kind.
class FeatureView {
 public:
  FeatureView() = default;
  // Reads the bytes of a message Feature. Errors: INVALID_ARGUMENT if they are malformed.
  static FeatureView parse(std::string_view message);

  FeatureKind kind() const { return kind_; }
  // Returns the number of values, in linear time.
  int64_t size() const;
  // Copies values while there is room. Returns the number of values, which may be larger. One pass.
  // Errors: INVALID_ARGUMENT for values of another kind. A feature without a kind has no values.
  int64_t copy(std::span<int64_t> out) const;
  int64_t copy(std::span<float> out) const;
  int64_t copy(std::span<std::string_view> out) const;  // views into the record
  // All values, appended.
  void append_to(std::vector<int64_t>& out) const;
  void append_to(std::vector<float>& out) const;
  void append_to(std::vector<std::string_view>& out) const;

 private:
  template <class T>
  int64_t copy_values(std::span<T> out, FeatureKind wanted) const;
  void check_kind(FeatureKind wanted) const;

  std::string_view lists_;  // fields of the message, from the first list that counts
  FeatureKind kind_ = FeatureKind::none;
};

// The features of one record: views into its bytes, which must outlive it. Parsing again reuses
// memory: keep one for many records. Thread-safe while it is only read.
class ExampleView {
 public:
  struct Entry {
    std::string_view key;
    FeatureView feature;
  };

  ExampleView() = default;
  explicit ExampleView(std::string_view serialized) { parse(serialized); }
  // Errors: INVALID_ARGUMENT, with the byte, if it is malformed; the view is then empty.
  void parse(std::string_view serialized);
  // Reads a message Features, such as the context of a SequenceExample.
  void parse_features(std::string_view message);

  // The entries in the record's order, including those that a later entry of the same key replaces.
  std::span<const Entry> entries() const { return entries_; }
  // Returns the last feature of that key, or null.
  const FeatureView* find(std::string_view key) const;

  // Reads a feature of exactly out.size() values. Returns false and leaves `out` unchanged if the
  // record does not have it. Errors: INVALID_ARGUMENT, with the key and the values found, for
  // another number or kind of values.
  bool read(std::string_view key, std::span<int64_t> out) const { return read_fixed(key, out); }
  bool read(std::string_view key, std::span<float> out) const { return read_fixed(key, out); }
  bool read(std::string_view key, std::span<std::string_view> out) const {
    return read_fixed(key, out);
  }
  // Reads a feature of exactly one value. Errors: those of read; NOT_FOUND, with the existing keys,
  // if it is missing.
  int64_t int64(std::string_view key) const;
  float float32(std::string_view key) const;
  std::string_view bytes(std::string_view key) const;
  // Returns the error for a missing key: NOT_FOUND, with the existing keys.
  Error missing(std::string_view key) const;

  // Returns whether the bytes had parts that an Example does not have: other fields, or a key
  // without a value. They are then probably another message.
  bool has_unknown_fields() const { return unknown_; }

 private:
  void add_features(std::string_view message);
  template <class T>
  bool read_fixed(std::string_view key, std::span<T> out) const;
  template <class T>
  T read_one(std::string_view key) const;

  std::vector<Entry> entries_;
  const char* begin_ = nullptr;
  bool unknown_ = false;
};

// As ExampleView, for tf.train.SequenceExample.
class SequenceExampleView {
 public:
  struct List {
    std::string_view key;
    size_t begin = 0;  // of its features
    size_t size = 0;
  };

  SequenceExampleView() = default;
  explicit SequenceExampleView(std::string_view serialized) { parse(serialized); }
  void parse(std::string_view serialized);

  const ExampleView& context() const { return context_; }
  std::span<const List> lists() const { return lists_; }
  std::span<const FeatureView> features(const List& list) const {
    return std::span(features_).subspan(list.begin, list.size);
  }
  // Returns the last list of that key, or nullopt.
  std::optional<std::span<const FeatureView>> find(std::string_view key) const;
  bool has_unknown_fields() const { return unknown_ || context_.has_unknown_fields(); }

 private:
  void add_list(std::string_view entry);

  ExampleView context_;
  std::vector<List> lists_;
  std::vector<FeatureView> features_;
  bool unknown_ = false;
};

// Values of one kind: a single value, {1, 2}, a vector or a span, which must outlive it.
template <class T>
class Values {
 public:
  template <std::convertible_to<T> U>
  Values(const U& value) : one_(value), single_(true) {}      // NOLINT(google-explicit-constructor)
  Values(std::initializer_list<T> values) : many_(values) {}  // NOLINT(google-explicit-constructor)
  Values(const std::vector<T>& values) : many_(values) {}     // NOLINT(google-explicit-constructor)
  Values(std::span<const T> values) : many_(values) {}        // NOLINT(google-explicit-constructor)

  std::span<const T> span() const { return single_ ? std::span<const T>(&one_, 1) : many_; }

 private:
  T one_{};
  std::span<const T> many_;
  bool single_ = false;
};

// Builds a tf.train.Example:
//   ExampleBuilder().int64("label", 7).bytes("image_raw", pixels).serialize()
// Equal features give equal bytes in any order of calls: keys are sorted, as in protobuf's
// deterministic output. Setting a key again replaces it.
class ExampleBuilder {
 public:
  ExampleBuilder& int64(std::string_view key, Values<int64_t> values);
  ExampleBuilder& float32(std::string_view key, Values<float> values);
  ExampleBuilder& bytes(std::string_view key, Values<std::string_view> values);

  // Returns the serialized Example, or only its message Features.
  std::string serialize() const;
  std::string serialize_features() const;
  bool empty() const { return features_.empty(); }
  void clear() { features_.clear(); }

 private:
  std::map<std::string, std::string, std::less<>> features_;  // key -> message Feature
};

// Builds a tf.train.SequenceExample: a context, and lists of features to which each append adds.
class SequenceExampleBuilder {
 public:
  ExampleBuilder& context() { return context_; }
  SequenceExampleBuilder& append_int64(std::string_view key, Values<int64_t> values);
  SequenceExampleBuilder& append_float32(std::string_view key, Values<float> values);
  SequenceExampleBuilder& append_bytes(std::string_view key, Values<std::string_view> values);
  std::string serialize() const;

 private:
  std::string& list(std::string_view key);

  ExampleBuilder context_;
  std::map<std::string, std::string, std::less<>> lists_;  // key -> message FeatureList
};

}  // namespace systole
