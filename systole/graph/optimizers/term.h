// The values that the formula of an optimizer is written in.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "systole/graph/core/graph.h"

namespace systole {

// A tensor or a number of an update. Where the gradient is rows of a table (IndexedSlices), a value
// has two parts: what it is in every row if no row has a gradient, and what it is in the rows that
// have one. Arithmetic computes both, and leaves out what is 0: a formula is written once, for a
// gradient of the parameter's shape, and no tensor of that shape is made for a gradient of rows.
// Nodes are added where a part is first used.
class Term {
 public:
  Term(double number);         // NOLINT(google-explicit-constructor)
  Term(const Output& tensor);  // NOLINT: a scalar, or a tensor with a gradient of its shape
  // A tensor of the parameter's shape; its rows `indices` are those with a gradient.
  static Term table(const Output& tensor, const Output& indices);
  // 0, but for the rows with a gradient.
  static Term rows(const Output& values);
  // The value `everywhere`, of whose rows with a gradient `rows` is what the formula made.
  static Term updated(const Output& everywhere, const Term& rows);

  // Whether everywhere() holds in the rows with a gradient, too.
  bool exact() const { return exact_; }
  // As a tensor: in all rows, and in the rows with a gradient.
  Output everywhere() const;
  Output in_rows() const;
  // The tensor of a formula that is never given rows.
  Output tensor() const { return everywhere(); }

  friend Term operator+(const Term& a, const Term& b) { return plus(a, b); }
  friend Term operator-(const Term& a, const Term& b) { return minus(a, b); }
  friend Term operator*(const Term& a, const Term& b) { return times(a, b); }
  friend Term operator/(const Term& a, const Term& b) { return over(a, b); }
  friend Term maximum(const Term& a, const Term& b) { return maximum_of(a, b); }
  friend Term minimum(const Term& a, const Term& b) { return minimum_of(a, b); }
  friend Term pow(const Term& a, const Term& b) { return pow_of(a, b); }
  friend Term sqrt(const Term& a) { return sqrt_of(a); }
  friend Term square(const Term& a) { return square_of(a); }
  friend Term abs(const Term& a) { return abs_of(a); }

 private:
  // A tensor, or a number where that is invalid.
  struct Part {
    Output tensor;
    double number = 0;
    bool is(double value) const { return !tensor.valid() && number == value; }
  };
  using Make = std::function<Part()>;
  // Made at its first use.
  struct Lazy {
    Make make;
    std::optional<Part> made;
    const Part& get();
  };
  using LazyPart = std::shared_ptr<Lazy>;

  Term(Make everywhere, Make rows, bool exact);
  static Term plus(const Term& a, const Term& b);
  static Term minus(const Term& a, const Term& b);
  static Term times(const Term& a, const Term& b);
  static Term over(const Term& a, const Term& b);
  static Term maximum_of(const Term& a, const Term& b);
  static Term minimum_of(const Term& a, const Term& b);
  static Term pow_of(const Term& a, const Term& b);
  static Term sqrt_of(const Term& a);
  static Term square_of(const Term& a);
  static Term abs_of(const Term& a);
  static Output tensor_of(const Part& part);
  static Input input_of(const Part& part);
  template <class F>
  static Term binary(const Term& a, const Term& b, F f);
  template <class F>
  static Term unary(const Term& a, F f);

  LazyPart everywhere_;
  LazyPart rows_;  // the same as everywhere_, but for tensors of tables
  bool exact_ = true;
};

}  // namespace systole
