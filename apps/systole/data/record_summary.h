// The contents of TFRecord files: counts, features, their types and shapes, statistics.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "systole/io/images/image.h"
#include "systole/io/records/example.h"

namespace systole::app {

// Running statistics of numbers.
struct NumberStats {
  int64_t count = 0;
  int64_t not_finite = 0;  // not part of the other statistics
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double mean = 0;
  double squares = 0;  // sum of squared differences from the mean

  void add(double value);
  double deviation() const;
};

struct FeatureSummary {
  std::map<FeatureKind, int64_t> kinds;  // records by kind
  int64_t records = 0;                   // that have it
  int64_t least_values = std::numeric_limits<int64_t>::max();
  int64_t most_values = 0;
  NumberStats numbers;  // the values; of bytes, their lengths
  // Counts of int64 values and short texts; empty if there are too many.
  std::map<std::string, int64_t> distinct;
  bool too_many = false;
  std::map<ImageFormat, int64_t> images;  // bytes that begin as an image
  NumberStats heights;
  NumberStats widths;

  void add(const FeatureView& feature);
  // "int64", "bytes", "int64 or float".
  std::string type() const;
  // "[]" for one value each, "[784]", "[1..3]".
  std::string shape() const;

 private:
  void add_bytes(std::string_view value);
  void add_distinct(std::string value);
};

// The kinds of messages, which are recognised by their contents.
enum class RecordKind { unknown, example, sequence_example, example_list };
std::string_view record_kind_name(RecordKind kind);

// Summarises records. Not thread-safe.
class RecordSummary {
 public:
  void add(std::string_view record);

  int64_t records() const { return records_; }
  RecordKind kind() const { return kind_; }
  // The names of a SequenceExample's context and lists begin with "context/" and "lists/".
  const std::map<std::string, FeatureSummary>& features() const { return features_; }

  std::string to_text() const;
  nlohmann::ordered_json to_json() const;

 private:
  void add_example(const ExampleView& view, const std::string& prefix);
  void add_sequence(const SequenceExampleView& view);
  void add_example_list(std::string_view record);

  int64_t records_ = 0;
  int64_t other_kinds_ = 0;  // records of another kind than the first
  RecordKind kind_ = RecordKind::unknown;
  NumberStats sizes_;
  std::map<std::string, FeatureSummary> features_;
  ExampleView example_;
  SequenceExampleView sequence_;
};

// What a record is, from its bytes.
RecordKind kind_of_record(std::string_view record);

}  // namespace systole::app
