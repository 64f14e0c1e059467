// Nested structures of values: the elements, features and labels of a data set. (tf.nest)
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/name_at_line.h"
#include "systole/base/suggest.h"

namespace systole {

// The leaf of a structure that is compared without its values.
struct NestLeaf {
  std::string to_string() const { return "*"; }
  friend bool operator==(const NestLeaf&, const NestLeaf&) = default;
};

// A value of type T, a tuple of nests, or a dict of named nests. Dicts are sorted by name, as in
// TensorFlow. A default-constructed Nest is the empty tuple, such as missing labels. A value type,
// as thread-safe as its values; copies share the names. T must be default-constructible.
template <class T>
class Nest {
 public:
  using Entry = std::pair<std::string, Nest>;
  // Whether T converts to an array index.
  static constexpr bool kIsIndex = std::is_convertible_v<const T&, std::ptrdiff_t>;

  Nest() = default;
  Nest(T leaf)  // NOLINT(google-explicit-constructor): a value is the simplest structure
      : kind_(Kind::leaf), leaf_(std::move(leaf)) {}

  // A dict: {{"x", x}, {"y", y}}. Errors: as dict().
  Nest(std::initializer_list<Entry> entries) : Nest(dict(std::vector<Entry>(entries))) {}

  static Nest tuple(std::vector<Nest> elements) {
    Nest result;
    result.elements_ = std::move(elements);
    return result;
  }
  // Errors: INVALID_ARGUMENT for a name given twice.
  static Nest dict(std::vector<Entry> entries) {
    std::ranges::sort(entries, {}, &Entry::first);
    Nest result;
    result.kind_ = Kind::dict;
    std::vector<std::string> names;
    for (auto& [name, element] : entries) {
      if (!names.empty() && names.back() == name) {
        throw invalid_argument("Nest.dict: name, got '{}' twice, expected each once", name);
      }
      names.push_back(std::move(name));
      result.elements_.push_back(std::move(element));
    }
    result.names_ = std::make_shared<const std::vector<std::string>>(std::move(names));
    return result;
  }

  bool is_leaf() const { return kind_ == Kind::leaf; }
  bool is_tuple() const { return kind_ == Kind::tuple; }
  bool is_dict() const { return kind_ == Kind::dict; }
  // Returns whether it has no leaf.
  bool empty() const {
    return !is_leaf() && std::ranges::all_of(elements_, [](const Nest& e) { return e.empty(); });
  }
  // The number of elements of the tuple or dict; 1 for a leaf.
  size_t size() const { return is_leaf() ? 1 : elements_.size(); }
  // The number of leaves.
  size_t num_leaves() const {
    size_t count = is_leaf() ? 1 : 0;
    for (const Nest& element : elements_) count += element.num_leaves();
    return count;
  }

  // Errors: INVALID_ARGUMENT, with the structure, if it is not a leaf.
  const T& leaf() const {
    if (!is_leaf()) throw not_a_leaf();
    return leaf_;
  }
  T& leaf() {
    if (!is_leaf()) throw not_a_leaf();
    return leaf_;
  }
  operator const T&() const { return leaf(); }  // NOLINT(google-explicit-constructor)
  // Converts a leaf to its value. (A type that names itself TakesNests has its own constructor.)
  template <class U>
  requires(!std::same_as<U, T> && !std::same_as<U, std::optional<Nest>> &&
           std::is_convertible_v<const T&, U> && !requires { typename U::TakesNests; })
  operator U() const {  // NOLINT(google-explicit-constructor)
    return leaf();
  }

  // Returns element `i` of a tuple, or of a dict in the order of its names. Errors: OUT_OF_RANGE.
  const Nest& operator[](size_t i) const {
    if (is_leaf() || i >= elements_.size()) {
      throw make_error(Code::out_of_range, "Nest: element, got {}, expected one of the {} of {}", i,
                       is_leaf() ? 0 : elements_.size(), to_string());
    }
    return elements_[i];
  }
  const Nest& operator[](int i) const { return (*this)[static_cast<size_t>(i)]; }
  // Errors, with the caller's line: NOT_FOUND, with the existing names; INVALID_ARGUMENT if it is
  // not a dict.
  const Nest& operator[](const NameAtLine& name) const requires(!kIsIndex) { return named(name); }
  // For such T, C++ can also read nest["x"] as the built-in "x"[nest]. These overloads avoid the
  // ambiguity; their errors have no line.
  const Nest& operator[](const char* name) const requires kIsIndex {
    return named({name, std::source_location()});
  }
  const Nest& operator[](std::string_view name) const requires kIsIndex {
    return named({name, std::source_location()});
  }
  // Returns null if it is not a dict or has no such name.
  const Nest* find(std::string_view name) const {
    if (!is_dict()) return nullptr;
    const auto it = std::ranges::lower_bound(*names_, name);
    if (it == names_->end() || *it != name) return nullptr;
    return &elements_[it - names_->begin()];
  }
  // The names of a dict, sorted; empty otherwise.
  const std::vector<std::string>& names() const {
    static const std::vector<std::string> none;
    return names_ == nullptr ? none : *names_;
  }
  // The elements of a tuple or dict.
  auto begin() const { return elements_.begin(); }
  auto end() const { return elements_.end(); }

  // Calls f(const T&) on each leaf, in order.
  template <class F>
  void for_each(F&& f) const {
    if (is_leaf()) f(leaf_);
    for (const Nest& element : elements_) element.for_each(f);
  }
  // Returns the leaves, in order.
  std::vector<T> flatten() const {
    std::vector<T> leaves;
    for_each([&](const T& leaf) { leaves.push_back(leaf); });
    return leaves;
  }
  // Returns the same structure with f(leaf) for each leaf, called in order.
  template <class F>
  auto map(F&& f) const -> Nest<std::decay_t<std::invoke_result_t<F&, const T&>>> {
    Nest<std::decay_t<std::invoke_result_t<F&, const T&>>> result;
    result.kind_ = static_cast<decltype(result.kind_)>(kind_);
    result.names_ = names_;
    if (is_leaf()) result.leaf_ = f(leaf_);
    result.elements_.reserve(elements_.size());
    for (const Nest& element : elements_) result.elements_.push_back(element.map(f));
    return result;
  }
  Nest<NestLeaf> structure() const {
    return map([](const T&) { return NestLeaf{}; });
  }

  // Returns "({x: f32[2]}, s32[])": leaves are printed by to_string, as their type, or by fmt.
  std::string to_string() const {
    if (is_leaf()) return leaf_to_string();
    std::string text(1, is_dict() ? '{' : '(');
    for (size_t i = 0; i < elements_.size(); ++i) {
      if (i > 0) text += ", ";
      if (is_dict()) text += (*names_)[i] + ": ";
      text += elements_[i].to_string();
    }
    if (is_tuple() && elements_.size() == 1) text += ',';
    return text + (is_dict() ? '}' : ')');
  }

  friend bool operator==(const Nest& a, const Nest& b) requires std::equality_comparable<T> {
    if (a.kind_ != b.kind_ || a.elements_ != b.elements_ || a.names() != b.names()) return false;
    return !a.is_leaf() || a.leaf_ == b.leaf_;
  }

 private:
  template <class>
  friend class Nest;
  enum class Kind { tuple, dict, leaf };

  const Nest& named(const NameAtLine& name) const {
    if (const Nest* const found = find(name.name)) return *found;
    const Error error = is_dict() ? no_such_name(name.name)
                                  : invalid_argument(
                                        "Nest: element '{}' by name, got {}, expected "
                                        "a dict",
                                        name.name, to_string());
    throw name.where.known() ? error.with_context("at " + name.where.to_string()) : error;
  }

  std::string leaf_to_string() const {
    if constexpr (requires { leaf_.to_string(); }) {
      return leaf_.to_string();
    } else if constexpr (requires { leaf_.type().to_string(); }) {
      return leaf_.type().to_string();
    } else {
      return fmt::format("{}", leaf_);
    }
  }
  Error not_a_leaf() const {
    return invalid_argument("Nest: structure, got {}, expected a single value", to_string());
  }
  Error no_such_name(std::string_view name) const {
    std::string there;
    for (const std::string& known : names()) there += (there.empty() ? "" : ", ") + known;
    return not_found("Nest: element, got '{}', expected one of {{{}}}{}", name, there,
                     did_you_mean(name, names()));
  }

  Kind kind_ = Kind::tuple;
  T leaf_{};
  std::vector<Nest> elements_;
  std::shared_ptr<const std::vector<std::string>> names_;  // of a dict, one an element
};

// Returns the structure of `like` with these leaves. Errors: INVALID_ARGUMENT if the counts differ.
template <class T, class U>
Nest<U> pack_like(const Nest<T>& like, std::vector<U> leaves) {
  if (leaves.size() != like.num_leaves()) {
    throw invalid_argument("pack_like: number of values, got {}, expected {} for {}", leaves.size(),
                           like.num_leaves(), like.to_string());
  }
  size_t next = 0;
  return like.map([&](const T&) { return std::move(leaves[next++]); });
}

}  // namespace systole
