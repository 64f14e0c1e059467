#include "systole/data/testing/elements.h"

#include "systole/data/stage.h"

namespace systole::data {
namespace {

std::string scalar_text(const Tensor& tensor, int64_t i) {
  if (tensor.dtype() == DType::string) return tensor.data<std::string>()[i];
  return fmt::format("{}", tensor.as_double(i));
}

std::string part_text(const Tensor& tensor) {
  if (tensor.rank() == 0) return scalar_text(tensor, 0);
  std::string text = "[";
  for (int64_t i = 0; i < tensor.dim(0); ++i) {
    if (i > 0) text += ' ';
    text += part_text(row_of(tensor, i));
  }
  return text + "]";
}

struct Text {
  std::string value;
  const std::string& to_string() const { return value; }
};

}  // namespace

std::string to_text(const Element& element) {
  return element.map([](const Tensor& tensor) { return Text{part_text(tensor)}; }).to_string();
}

std::vector<std::string> rest(Iterator& iterator, int64_t limit) {
  std::vector<std::string> result;
  while (static_cast<int64_t>(result.size()) < limit) {
    try {
      const std::optional<Element> element = iterator.next();
      if (!element) break;
      result.push_back(to_text(*element));
    } catch (...) {
      const Error error = current_error();
      result.emplace_back(error.what());
      if (error.code() == Code::cancelled) break;
    }
  }
  return result;
}

std::vector<std::string> elements(const Dataset& dataset, const IteratorOptions& options) {
  Iterator iterator(dataset, options);
  return rest(iterator);
}

std::string joined(const Dataset& dataset, const IteratorOptions& options) {
  std::string text;
  for (const std::string& element : elements(dataset, options)) {
    text += (text.empty() ? "" : " ") + element;
  }
  return text;
}

}  // namespace systole::data
