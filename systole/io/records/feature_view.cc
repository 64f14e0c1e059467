// The values of a feature.
#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "systole/io/records/example.h"
#include "systole/io/wire/wire.h"

namespace systole {
namespace {

static_assert(std::endian::native == std::endian::little, "floats are copied as they are");

using wire::Type;

bool is_list(const wire::Reader& field) {
  return field.number() >= 1 && field.number() <= 3 && field.type() == Type::bytes;
}

int64_t count_varints(std::string_view packed) {
  return std::ranges::count_if(packed, [](char byte) { return byte >= 0; });
}

// Takes values of T one by one and keeps those for which there is room.
template <class T>
struct Sink {
  std::span<T> out;
  int64_t count = 0;

  void operator()(T value) {
    if (static_cast<size_t>(count) < out.size()) out[count] = value;
    ++count;
  }
  std::span<T> room() const { return out.subspan(std::min<size_t>(out.size(), count)); }
};

void read_packed(std::string_view packed, Sink<float>& sink) {
  if (packed.size() % sizeof(float) != 0) {
    throw invalid_argument("float_list: bytes, got {}, expected a multiple of 4", packed.size());
  }
  const size_t count = packed.size() / sizeof(float);
  const std::span<float> room = sink.room();
  const size_t bytes = std::min(count, room.size()) * sizeof(float);
  if (bytes > 0) std::memcpy(room.data(), packed.data(), bytes);
  sink.count += static_cast<int64_t>(count);
}

void read_packed(std::string_view packed, Sink<int64_t>& sink) {
  wire::Reader values(packed);
  const char* end = packed.data() + packed.size();
  for (int64_t& value : sink.room()) {
    if (values.at() == end) return;
    value = static_cast<int64_t>(values.varint());
    ++sink.count;
  }
  const std::string_view rest(values.at(), static_cast<size_t>(end - values.at()));
  if (!rest.empty() && rest.back() < 0) {
    throw invalid_argument("int64_list: last byte, got an unterminated number, expected its end");
  }
  sink.count += count_varints(rest);
}

template <class T>
void read_list(std::string_view list, Sink<T>& sink) {
  wire::Reader field(list);
  while (field.next()) {
    if (field.number() != 1) {
      field.skip();
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      if (field.type() == Type::bytes) {
        sink(field.bytes());
      } else {
        field.skip();
      }
    } else {
      constexpr Type kPlain = std::is_same_v<T, float> ? Type::fixed32 : Type::varint;
      if (field.type() == Type::bytes) {
        read_packed(field.bytes(), sink);
      } else if (field.type() != kPlain) {
        field.skip();
      } else if constexpr (kPlain == Type::fixed32) {
        sink(std::bit_cast<float>(field.fixed32()));
      } else {
        sink(static_cast<int64_t>(field.varint()));
      }
    }
  }
}

}  // namespace

std::string_view feature_kind_name(FeatureKind kind) {
  constexpr std::string_view kNames[] = {"no values", "bytes", "float", "int64"};
  return kNames[static_cast<size_t>(kind)];
}

FeatureView FeatureView::parse(std::string_view message) {
  FeatureView view;
  wire::Reader field(message);
  const char* end = message.data() + message.size();
  for (const char* begin = message.data(); field.next(); begin = field.at()) {
    if (is_list(field)) {
      // In a oneof, a list of another kind replaces earlier values, one of the same kind extends
      // them.
      const auto kind = static_cast<FeatureKind>(field.number());
      if (kind != view.kind_) view.lists_ = {begin, static_cast<size_t>(end - begin)};
      view.kind_ = kind;
    }
    field.skip();
  }
  return view;
}

void FeatureView::check_kind(FeatureKind wanted) const {
  if (kind_ == wanted || kind_ == FeatureKind::none) return;
  throw invalid_argument("type, got {}, expected {}", feature_kind_name(kind_),
                         feature_kind_name(wanted));
}

template <class T>
int64_t FeatureView::copy_values(std::span<T> out, FeatureKind wanted) const {
  check_kind(wanted);
  Sink<T> sink{out};
  wire::Reader field(lists_);
  while (field.next()) {
    if (is_list(field) && static_cast<FeatureKind>(field.number()) == wanted) {
      read_list(field.bytes(), sink);
    } else {
      field.skip();
    }
  }
  return sink.count;
}

int64_t FeatureView::copy(std::span<int64_t> out) const {
  return copy_values(out, FeatureKind::int64s);
}
int64_t FeatureView::copy(std::span<float> out) const {
  return copy_values(out, FeatureKind::floats);
}
int64_t FeatureView::copy(std::span<std::string_view> out) const {
  return copy_values(out, FeatureKind::bytes);
}

int64_t FeatureView::size() const {
  switch (kind_) {
    case FeatureKind::none:
      return 0;
    case FeatureKind::bytes:
      return copy(std::span<std::string_view>());
    case FeatureKind::floats:
      return copy(std::span<float>());
    case FeatureKind::int64s:
      return copy(std::span<int64_t>());
  }
  return 0;
}

namespace {

template <class T>
void append_values(const FeatureView& view, std::vector<T>& out) {
  const size_t before = out.size();
  const int64_t count = view.copy(std::span<T>());
  out.resize(before + static_cast<size_t>(count));
  view.copy(std::span(out).subspan(before));
}

}  // namespace

void FeatureView::append_to(std::vector<int64_t>& out) const { append_values(*this, out); }
void FeatureView::append_to(std::vector<float>& out) const { append_values(*this, out); }
void FeatureView::append_to(std::vector<std::string_view>& out) const { append_values(*this, out); }

}  // namespace systole
