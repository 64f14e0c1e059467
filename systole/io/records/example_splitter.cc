#include "systole/io/records/example_splitter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "systole/io/wire/wire.h"

namespace systole {
namespace {

using wire::Type;

constexpr char tag_of(int number, Type type) {
  return static_cast<char>(number << 3 | static_cast<int>(type));
}
// Stops trying frames after this many misses.
constexpr int kMaxMisses = 8;

constexpr char kFirst = tag_of(1, Type::bytes);
constexpr char kSecond = tag_of(2, Type::bytes);

// Reads the bytes of the field with this tag at the start of `rest` and advances past it. Returns
// false for anything else.
bool take(std::string_view& rest, char tag, std::string_view& bytes) {
  constexpr size_t kLongest = 5;  // bytes of a size
  if (rest.size() < 2 || rest[0] != tag) return false;
  size_t size = 0;
  for (size_t i = 0; i < kLongest && i + 1 < rest.size(); ++i) {
    const auto byte = static_cast<unsigned char>(rest[i + 1]);
    size |= size_t{byte & 0x7fU} << (7 * i);
    if (byte >= 0x80) continue;
    const size_t begin = i + 2;
    if (size > rest.size() - begin) return false;
    bytes = rest.substr(begin, size);
    rest.remove_prefix(begin + size);
    return true;
  }
  return false;
}

// Returns the field that is all of `message`.
bool take_all(std::string_view message, char tag, std::string_view& bytes) {
  return take(message, tag, bytes) && message.empty();
}

// Returns the only list of a message Feature.
bool find_list(std::string_view message, FeatureKind& kind, std::string_view& list) {
  if (message.empty() || message[0] < kFirst || message[0] > tag_of(3, Type::bytes)) return false;
  kind = static_cast<FeatureKind>(message[0] >> 3);
  return take_all(message, tag_of(static_cast<int>(kind), Type::bytes), list);
}

bool is_one_varint(std::string_view bytes) {
  const auto is_last = [](char byte) { return byte >= 0; };
  return !bytes.empty() && std::ranges::find_if(bytes, is_last) == bytes.end() - 1;
}

// Returns the values of an unpacked list.
bool read_single(FeatureKind kind, std::string_view list, std::string_view& values) {
  if (list.empty()) return false;
  // An unpacked number has the encoding of a packed one, after its tag.
  values = list.substr(1);
  if (kind == FeatureKind::floats) {
    return list[0] == tag_of(1, Type::fixed32) && values.size() == sizeof(float);
  }
  return kind == FeatureKind::int64s && list[0] == tag_of(1, Type::varint) && is_one_varint(values);
}

}  // namespace

size_t ExampleSplitter::index_at(size_t place, std::string_view key) {
  if (place >= places_.size()) places_.resize(place + 1);
  Place& known = places_[place];
  if (known.key != key || key.empty()) {
    known.key = key;
    known.index = static_cast<size_t>(std::ranges::find(keys_, key) - keys_.begin());
  }
  return known.index;
}

bool ExampleSplitter::split(std::string_view record, std::span<PlainFeature> found) {
  if (misses_ < kMaxMisses && record.size() == frame_.record_size && !record.empty()) {
    if (split_as_before(record, found)) return true;
    ++misses_;
  }
  if (!split_anew(record, found)) return false;
  // Frames do not help for records of varying sizes, or that never share one.
  const bool same_size = std::exchange(last_size_, record.size()) == record.size();
  if (same_size && packed_ && misses_ < kMaxMisses) keep_frame(record, found);
  return true;
}

bool ExampleSplitter::split_as_before(std::string_view record,
                                      std::span<PlainFeature> found) const {
  const char* kept = frame_.bytes.data();
  for (const Frame::Piece& piece : frame_.around) {
    if (std::memcmp(record.data() + piece.begin, kept, piece.size) != 0) return false;
    kept += piece.size;
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const Frame::Piece& values = frame_.values[i];
    found[i] = {frame_.kinds[i], record.substr(values.begin, values.size)};
  }
  return true;
}

void ExampleSplitter::keep_frame(std::string_view record, std::span<const PlainFeature> found) {
  frame_ = {.record_size = record.size()};
  for (const PlainFeature& feature : found) {
    frame_.kinds.push_back(feature.kind);
    frame_.values.push_back(
        {static_cast<size_t>(feature.values.data() - record.data()), feature.values.size()});
  }
  std::vector<Frame::Piece> in_order = frame_.values;
  std::ranges::sort(in_order, {}, &Frame::Piece::begin);
  size_t at = 0;
  const auto keep = [&](size_t end) {
    frame_.around.push_back({at, end - at});
    frame_.bytes += record.substr(at, end - at);
  };
  for (const Frame::Piece& values : in_order) {
    keep(values.begin);
    at = values.begin + values.size;
  }
  keep(record.size());
}

bool ExampleSplitter::split_anew(std::string_view record, std::span<PlainFeature> found) {
  for (PlainFeature& feature : found) feature.kind = FeatureKind::none;
  std::string_view features;
  if (!take_all(record, kFirst, features)) return false;
  packed_ = true;
  size_t wanted = found.size();
  for (size_t place = 0; !features.empty(); ++place) {
    std::string_view entry;
    std::string_view key;
    std::string_view value;
    std::string_view list;
    FeatureKind kind = FeatureKind::none;
    const bool plain = take(features, kFirst, entry) && take(entry, kFirst, key) &&
                       take_all(entry, kSecond, value) && find_list(value, kind, list);
    if (!plain) return false;
    const size_t index = index_at(place, key);
    if (index == found.size()) continue;
    PlainFeature& feature = found[index];
    if (feature.kind != FeatureKind::none) return false;
    if (!take_all(list, kFirst, feature.values)) {
      packed_ = false;
      if (!read_single(kind, list, feature.values)) return false;
    }
    feature.kind = kind;
    --wanted;
  }
  return wanted == 0;
}

bool unpack(std::string_view values, std::span<int64_t> out) {
  size_t at = 0;
  for (int64_t& number : out) {
    uint64_t value = 0;
    int shift = 0;
    for (;; shift += 7) {
      constexpr int kLastShift = 63;
      if (at == values.size() || shift > kLastShift) return false;
      const auto byte = static_cast<unsigned char>(values[at++]);
      value |= shift == kLastShift ? uint64_t{byte & 1U} << shift : uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    number = static_cast<int64_t>(value);
  }
  return at == values.size();
}

bool unpack(std::string_view values, std::span<float> out) {
  if (values.size() != out.size_bytes()) return false;
  if (!values.empty()) std::memcpy(out.data(), values.data(), values.size());
  return true;
}

}  // namespace systole
