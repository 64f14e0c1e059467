#include "systole/graph/optimizers/term.h"

#include <algorithm>
#include <cmath>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"

namespace systole {

const Term::Part& Term::Lazy::get() {
  if (!made) made = make();
  return *made;
}

Term::Term(Make everywhere, Make rows, bool exact)
    : everywhere_(std::make_shared<Lazy>(Lazy{std::move(everywhere), {}})),
      rows_(rows ? std::make_shared<Lazy>(Lazy{std::move(rows), {}}) : everywhere_),
      exact_(exact) {}

Term::Term(double number)
    : Term([number] { return Part{.tensor = {}, .number = number}; }, nullptr, true) {}

Term::Term(const Output& tensor) : Term([tensor] { return Part{tensor}; }, nullptr, true) {}

Term Term::table(const Output& tensor, const Output& indices) {
  return Term([tensor] { return Part{tensor}; },
              [tensor, indices] { return Part{gather(tensor, indices)}; }, true);
}

Term Term::rows(const Output& values) {
  return Term([] { return Part{}; }, [values] { return Part{values}; }, false);
}

Term Term::updated(const Output& everywhere, const Term& rows) {
  return Term([everywhere] { return Part{everywhere}; },
              [part = rows.rows_] { return part->get(); }, true);
}

Output Term::tensor_of(const Part& part) {
  return part.tensor.valid() ? part.tensor : constant(static_cast<float>(part.number));
}

Input Term::input_of(const Part& part) {
  return part.tensor.valid() ? Input(part.tensor) : Input(part.number);
}

Output Term::everywhere() const { return tensor_of(everywhere_->get()); }
Output Term::in_rows() const { return tensor_of(rows_->get()); }

template <class F>
Term Term::binary(const Term& a, const Term& b, F f) {
  const auto part = [f](const LazyPart& x, const LazyPart& y) -> Make {
    return [f, x, y] { return f(x->get(), y->get()); };
  };
  const bool has_rows = a.rows_ != a.everywhere_ || b.rows_ != b.everywhere_;
  return Term(part(a.everywhere_, b.everywhere_), has_rows ? part(a.rows_, b.rows_) : nullptr,
              a.exact_ && b.exact_);
}

template <class F>
Term Term::unary(const Term& a, F f) {
  return binary(a, a, [f](const Part& x, const Part&) { return f(x); });
}

Term Term::plus(const Term& a, const Term& b) {
  return binary(a, b, [](const Part& x, const Part& y) {
    if (x.is(0)) return y;
    if (y.is(0)) return x;
    if (!x.tensor.valid() && !y.tensor.valid()) return Part{{}, x.number + y.number};
    return Part{input_of(x) + input_of(y)};
  });
}

Term Term::minus(const Term& a, const Term& b) {
  return binary(a, b, [](const Part& x, const Part& y) {
    if (y.is(0)) return x;
    if (!x.tensor.valid() && !y.tensor.valid()) return Part{{}, x.number - y.number};
    if (x.is(0)) return Part{-input_of(y)};
    return Part{input_of(x) - input_of(y)};
  });
}

Term Term::times(const Term& a, const Term& b) {
  return binary(a, b, [](const Part& x, const Part& y) {
    if (x.is(0) || y.is(1)) return x;
    if (y.is(0) || x.is(1)) return y;
    if (!x.tensor.valid() && !y.tensor.valid()) return Part{{}, x.number * y.number};
    return Part{input_of(x) * input_of(y)};
  });
}

Term Term::over(const Term& a, const Term& b) {
  return binary(a, b, [](const Part& x, const Part& y) {
    if (x.is(0) || y.is(1)) return x;
    if (!x.tensor.valid() && !y.tensor.valid()) return Part{{}, x.number / y.number};
    return Part{input_of(x) / input_of(y)};
  });
}

Term Term::maximum_of(const Term& a, const Term& b) {
  return binary(a, b, [](const Part& x, const Part& y) {
    if (!x.tensor.valid() && !y.tensor.valid()) return Part{{}, std::max(x.number, y.number)};
    return Part{systole::maximum(input_of(x), input_of(y))};
  });
}

Term Term::minimum_of(const Term& a, const Term& b) {
  return binary(a, b, [](const Part& x, const Part& y) {
    if (!x.tensor.valid() && !y.tensor.valid()) return Part{{}, std::min(x.number, y.number)};
    return Part{systole::minimum(input_of(x), input_of(y))};
  });
}

Term Term::pow_of(const Term& a, const Term& b) {
  return binary(a, b, [](const Part& x, const Part& y) {
    if (!x.tensor.valid() && !y.tensor.valid()) return Part{{}, std::pow(x.number, y.number)};
    return Part{systole::pow(input_of(x), input_of(y))};
  });
}

Term Term::sqrt_of(const Term& a) {
  return unary(a, [](const Part& x) {
    return x.tensor.valid() ? Part{systole::sqrt(x.tensor)} : Part{{}, std::sqrt(x.number)};
  });
}

Term Term::square_of(const Term& a) {
  return unary(a, [](const Part& x) {
    return x.tensor.valid() ? Part{systole::square(x.tensor)} : Part{{}, x.number * x.number};
  });
}

Term Term::abs_of(const Term& a) {
  return unary(a, [](const Part& x) {
    return x.tensor.valid() ? Part{systole::abs(x.tensor)} : Part{{}, std::abs(x.number)};
  });
}

}  // namespace systole
