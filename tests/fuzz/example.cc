// An Example that is read holds the same values when it is built again, and when it is split.
#include "systole/io/records/example.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "systole/base/error.h"
#include "systole/io/records/example_splitter.h"

namespace {

using systole::ExampleBuilder;
using systole::ExampleView;
using systole::FeatureKind;
using systole::FeatureView;

void copy(ExampleBuilder& builder, std::string_view key, const FeatureView& feature) {
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string_view> bytes;
  switch (feature.kind()) {
    case FeatureKind::none:
      break;
    case FeatureKind::bytes:
      feature.append_to(bytes);
      builder.bytes(key, bytes);
      break;
    case FeatureKind::floats:
      feature.append_to(floats);
      builder.float32(key, floats);
      break;
    case FeatureKind::int64s:
      feature.append_to(ints);
      builder.int64(key, ints);
      break;
  }
}

std::string rebuilt(std::string_view bytes) {
  const ExampleView view(bytes);
  ExampleBuilder builder;
  for (const auto& [key, feature] : view.entries()) {
    if (feature.kind() != FeatureKind::none) copy(builder, key, *view.find(key));
  }
  return builder.serialize();
}

void walk(std::string_view bytes) {
  const systole::SequenceExampleView view(bytes);
  for (const auto& list : view.lists()) {
    for (const FeatureView& feature : view.features(list)) (void)feature.size();
  }
}

// Whether what was found for the key is what the view finds.
bool is_same(const ExampleView& view, std::string_view key, const systole::PlainFeature& found) {
  const FeatureView* const feature = view.find(key);
  if (feature == nullptr || feature->kind() != found.kind) return false;
  if (found.kind == FeatureKind::bytes && view.bytes(key) != found.values) return false;
  if (found.kind != FeatureKind::int64s) return true;
  int64_t value = 0;
  return !systole::unpack(found.values, {&value, 1}) || view.int64(key) == value;
}

// What one splitter finds in the record, again in the frame that it keeps of it, and in a record of
// the same size that differs in one bit.
bool same_in_one_pass(std::string_view bytes) {
  const ExampleView view(bytes);
  std::string other(bytes);
  other[bytes.size() / 2] = static_cast<char>(other[bytes.size() / 2] ^ (1 << (bytes.size() % 8)));
  for (const auto& entry : view.entries()) {
    systole::ExampleSplitter splitter({std::string(entry.key)});
    systole::PlainFeature found;
    for (int i = 0; i < 3; ++i) {
      if (splitter.split(bytes, {&found, 1}) && !is_same(view, entry.key, found)) return false;
    }
    if (!splitter.split(other, {&found, 1})) continue;
    try {
      if (!is_same(ExampleView(other), entry.key, found)) return false;
    } catch (const systole::Error&) {  // NOLINT(bugprone-empty-catch): refused, as it may be
    }
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    walk(bytes);
  } catch (const systole::Error&) {  // NOLINT(bugprone-empty-catch): refused, as it may be
  }
  std::string once;
  try {
    once = rebuilt(bytes);
    if (size > 0 && !same_in_one_pass(bytes)) std::abort();
  } catch (const systole::Error&) {
    return 0;
  }
  if (rebuilt(once) != once) std::abort();
  return 0;
}
