// Results of data set functions that are written with ops. Internal to this layer.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "systole/base/nest.h"
#include "systole/graph/core/graph.h"

namespace systole::data {

// Matches an Output, a Nest of Outputs, and a std::pair or std::tuple of these.
template <class T>
struct IsGraphResult : std::is_convertible<T, Nest<Output>> {};
template <class A, class B>
struct IsGraphResult<std::pair<A, B>> : std::conjunction<IsGraphResult<A>, IsGraphResult<B>> {};
template <class... T>
struct IsGraphResult<std::tuple<T...>> : std::conjunction<IsGraphResult<T>...> {};

// False for every type: for static_assert in a discarded branch.
template <class>
inline constexpr bool kNever = false;

template <class T>
Nest<Output> to_nest(const T& result) {
  if constexpr (std::is_convertible_v<const T&, Nest<Output>>) {
    return result;
  } else if constexpr (IsGraphResult<T>::value) {
    return std::apply(
        [](const auto&... parts) {
          std::vector<Nest<Output>> elements;
          (elements.push_back(to_nest(parts)), ...);
          return Nest<Output>::tuple(std::move(elements));
        },
        result);
  } else {
    static_assert(kNever<T>,
                  "a function of a data set that is written with ops returns an Output, a "
                  "Nest<Output>, or a std::pair or std::tuple of those");
  }
}

}  // namespace systole::data
