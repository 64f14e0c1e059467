// The feeds of a run: tensors of the graph and their values. (feed_dict)
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/graph/core/graph.h"

namespace systole {

// A Tensor, fed without conversion; or a number, a text, a vector, a vector of vectors, or lists
// {{1, 2}, {3, 4}}, as NumPy takes them. Those are converted to the dtype of the tensor that they
// are fed to if it can represent them: 3.0 as an integer, 0 and 1 as pred, true as 1.
class FeedValue {
 public:
  FeedValue(Tensor tensor)  // NOLINT(google-explicit-constructor)
      : tensor_(std::move(tensor)) {}
  template <class T>
  requires std::is_arithmetic_v<T> FeedValue(T number)  // NOLINT(google-explicit-constructor)
      : tensor_(scalar(number)), converts_(true) {}
  FeedValue(std::string text)  // NOLINT(google-explicit-constructor)
      : tensor_(std::move(text)) {}
  FeedValue(const char* text) : tensor_(text) {}  // NOLINT(google-explicit-constructor)
  template <class T>
  FeedValue(const std::vector<T>& values)  // NOLINT(google-explicit-constructor)
      : tensor_(Tensor::of<T>({static_cast<int64_t>(values.size())}, values)), converts_(true) {}
  // Errors: INVALID_ARGUMENT for rows of different sizes.
  template <class T>
  FeedValue(const std::vector<std::vector<T>>& rows)  // NOLINT(google-explicit-constructor)
      : FeedValue(stacked(std::vector<FeedValue>(rows.begin(), rows.end()))) {}
  // Stacks values of one shape along a new first axis. Errors: INVALID_ARGUMENT for other shapes.
  FeedValue(std::initializer_list<FeedValue> values)  // NOLINT(google-explicit-constructor)
      : FeedValue(stacked(values)) {}

  // Returns the value with the dtype of `key`. Errors: INVALID_ARGUMENT for a number that the dtype
  // cannot represent. Does not check values that are not converted; the session does.
  Tensor of(const Output& key) &&;

 private:
  FeedValue(Tensor tensor, bool converts) : tensor_(std::move(tensor)), converts_(converts) {}
  template <class T>
  static Tensor scalar(T number) {
    if constexpr (std::same_as<T, bool>) return {number};
    if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(uint64_t)) {
      // s64 if it can represent the number, like other integers.
      if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return Tensor::scalar(static_cast<uint64_t>(number));
      }
    }
    if constexpr (std::is_integral_v<T>) return {static_cast<int64_t>(number)};
    return {static_cast<double>(number)};
  }
  static FeedValue stacked(const std::vector<FeedValue>& values);

  Tensor tensor_;
  bool converts_ = false;
};

// One entry of a feed_dict: any tensor of the graph, or its name, and its value for this run.
struct FeedItem {
  FeedItem(Output key, FeedValue value) : key(key), value(std::move(value).of(key)) {}
  // By name, "x:0" or "x", in the graph of the session that is given it.
  template <std::convertible_to<std::string_view> Name>
  FeedItem(const Name& name, FeedValue value)
      : named(
            std::make_shared<const Named>(std::string(std::string_view(name)), std::move(value))) {}

  struct Named {
    Named(std::string name, FeedValue value) : name(std::move(name)), value(std::move(value)) {}
    std::string name;
    FeedValue value;
  };
  // With the key of `graph`. Errors: NOT_FOUND for another name, with near misses.
  FeedItem in(const Graph& graph) const;

  Output key;  // invalid where `named` holds
  Tensor value;
  std::shared_ptr<const Named> named;
};
using FeedDict = std::vector<FeedItem>;

}  // namespace systole
