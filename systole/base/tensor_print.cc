#include <fmt/format.h>

#include <iterator>
#include <ostream>

#include "systole/base/escape.h"
#include "systole/base/tensor.h"

namespace systole {
namespace {

template <class T>
void print_element(std::string& out, const T& value) {
  auto it = std::back_inserter(out);
  if constexpr (std::is_same_v<T, std::string>) {
    fmt::format_to(it, "\"{}\"", escaped(value, {.quote = '"'}));
  } else if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    fmt::format_to(it, "{:.4g}", static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, float16>) {
    fmt::format_to(it, "{:.5g}", static_cast<float>(value));
  } else if constexpr (std::is_integral_v<T> || std::is_floating_point_v<T>) {
    fmt::format_to(it, "{}", value);
  } else if constexpr (requires { value.real(); }) {
    fmt::format_to(it, "({}, {})", value.real(), value.imag());
  } else {  // an integer below 8 bits
    fmt::format_to(it, "{}", static_cast<int>(value));
  }
}

// Prints the elements in nested braces in row-major order, with "..." after `limit` elements.
template <class T>
class Printer {
 public:
  Printer(std::string& out, const Shape& shape, std::span<const T> elements, int64_t limit)
      : out_(out), shape_(shape), elements_(elements), limit_(limit) {}

  void print(int axis = 0) {
    if (axis == shape_.rank()) {
      print_element<T>(out_, elements_[next_++]);
      return;
    }
    out_ += '{';
    for (int64_t i = 0; i < shape_[axis]; ++i) {
      if (i > 0) out_ += ", ";
      if (next_ >= limit_) {
        out_ += "...";
        break;
      }
      print(axis + 1);
    }
    out_ += '}';
  }

 private:
  std::string& out_;
  const Shape& shape_;
  std::span<const T> elements_;
  int64_t limit_;
  int64_t next_ = 0;
};

}  // namespace

std::string Tensor::to_string(int64_t max_elements) const {
  if (!valid()) return "invalid";
  std::string out = type().to_string() + " ";
  if (num_elements_ == 0) return out + "{}";
  // Floats below 16 bits have no C++ element type to print. f32 holds their values exactly.
  const Tensor values = is_small_float(dtype_) ? cast(DType::f32) : *this;
  const auto print = [&]<class T>() {
    Printer<T>(out, shape_, values.data<T>(), max_elements).print();
  };
  if (dtype_ == DType::string) {
    print.template operator()<std::string>();
  } else {
    visit_dtype(values.dtype(), print);
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << tensor.to_string();
}

}  // namespace systole
