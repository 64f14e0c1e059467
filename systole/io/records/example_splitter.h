// The features of records that one writer wrote, which mostly have the same keys in the same order:
// found in one pass, where they stood in the record before.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/io/records/example.h"

namespace systole {

// The values of a feature, in the record's own bytes.
struct PlainFeature {
  FeatureKind kind = FeatureKind::none;
  // Of bytes: the one value. Of numbers: packed, as on the wire.
  std::string_view values;
};

// Reads serialised Examples of the plain form that writers give them: each key once, each feature
// one list, bytes in lists of one. What has another form is for ExampleView, which reads all of
// them and says what is wrong. Not thread-safe; keep one for many records.
class ExampleSplitter {
 public:
  explicit ExampleSplitter(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  // found[i] becomes the feature of keys[i]; false, with `found` undefined, when the record lacks
  // one or is not of the plain form. REQUIRES: found.size() is the number of keys.
  bool split(std::string_view record, std::span<PlainFeature> found);

 private:
  // Which key stood at a place of the record before.
  struct Place {
    std::string key;
    size_t index = 0;  // in keys_; their number when nobody asked for it
  };
  // All of a record but the values that were asked for. Where it is the same, so are their places.
  struct Frame {
    struct Piece {
      size_t begin;
      size_t size;
    };
    size_t record_size = 0;     // 0: there is none
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
  bool packed_ = false;   // no value of the record has to be looked at to know where it ends
};

// Packed values to numbers; false unless there are exactly out.size() of them.
bool unpack(std::string_view values, std::span<int64_t> out);
bool unpack(std::string_view values, std::span<float> out);

}  // namespace systole
