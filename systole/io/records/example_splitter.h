// Fast access to the features of records from one writer, which mostly have the same keys in the
// same order. One pass, starting from the positions in the preceding record.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/io/records/example.h"

namespace systole {

// The values of a feature, in the record's bytes.
struct PlainFeature {
  FeatureKind kind = FeatureKind::none;
  // The single value of bytes, or the packed numbers as on the wire.
  std::string_view values;
};

// Reads serialized Examples of the form that writers produce: each key once, each feature one list,
// bytes in lists of one. ExampleView reads all other forms and reports errors. Not thread-safe;
// keep one for many records.
class ExampleSplitter {
 public:
  explicit ExampleSplitter(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  // Sets found[i] to the feature of keys[i]. Returns false, with `found` unspecified, if the record
  // lacks one or has another form. REQUIRES: found.size() is the number of keys.
  bool split(std::string_view record, std::span<PlainFeature> found);

 private:
  // The key at a position of the preceding record.
  struct Place {
    std::string key;
    size_t index = 0;  // in keys_; their number for a key not requested
  };
  // The bytes of a record without the requested values. Records with the same frame have values at
  // the same positions.
  struct Frame {
    struct Piece {
      size_t begin;
      size_t size;
    };
    size_t record_size = 0;     // 0: none
    std::string bytes;          // the pieces around the values
    std::vector<Piece> around;  // in the record's order
    std::vector<Piece> values;  // by feature
    std::vector<FeatureKind> kinds;
  };
  size_t index_at(size_t place, std::string_view key);
  bool split_anew(std::string_view record, std::span<PlainFeature> found);
  bool split_as_before(std::string_view record, std::span<PlainFeature> found) const;
  void keep_frame(std::string_view record, std::span<const PlainFeature> found);

  std::vector<std::string> keys_;
  std::vector<Place> places_;
  Frame frame_;
  int misses_ = 0;        // records of the frame's size with another frame
  size_t last_size_ = 0;  // of the record before
  bool packed_ = false;   // the sizes of all values are known without decoding
};

// Decodes packed values. Returns false unless there are exactly out.size() of them.
bool unpack(std::string_view values, std::span<int64_t> out);
bool unpack(std::string_view values, std::span<float> out);

}  // namespace systole
