#include "examples/support/classification.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace examples {

int64_t label_of(const systole::Tensor& one_hot, int64_t row) {
  const systole::Tensor one = one_hot.slice(row, row + 1);
  const auto values = one.data<float>();
  return std::ranges::max_element(values) - values.begin();
}

double accuracy(const systole::Tensor& one_hot, const systole::Tensor& predictions) {
  const auto guesses = predictions.data<int64_t>();
  int64_t right = 0;
  for (size_t i = 0; i < guesses.size(); ++i)
    right += label_of(one_hot, static_cast<int64_t>(i)) == guesses[i];
  return static_cast<double>(right) / static_cast<double>(guesses.size());
}

std::string confusion_matrix(const systole::Tensor& one_hot, const systole::Tensor& predictions,
                             std::span<const std::string> names) {
  const size_t classes = names.size();
  const auto side = static_cast<int64_t>(classes);
  systole::Tensor counts = systole::Tensor::zeros(systole::DType::f32, {side, side});
  const auto guesses = predictions.data<int64_t>();
  for (size_t i = 0; i < guesses.size(); ++i) {
    const auto truth = static_cast<size_t>(label_of(one_hot, static_cast<int64_t>(i)));
    ++counts.data<float>()[truth * classes + static_cast<size_t>(guesses[i])];
  }
  return confusion_table(counts, names);
}

std::string confusion_table(const systole::Tensor& counts, std::span<const std::string> names) {
  const size_t classes = names.size();
  size_t width = 5;
  for (const std::string& name : names) width = std::max(width, name.size() + 2);
  std::string text = fmt::format("{:>14}", "truth \\ guess");
  for (const std::string& name : names) text += fmt::format("{:>{}}", name, width);
  for (size_t row = 0; row < classes; ++row) {
    text += fmt::format("\n{:>14}", names[row]);
    for (size_t column = 0; column < classes; ++column)
      text += fmt::format("{:>{}.0f}", counts.data<float>()[row * classes + column], width);
  }
  return text + "\n";
}

std::string sample_predictions(const systole::Tensor& x, const systole::Tensor& one_hot,
                               const systole::Tensor& predictions,
                               std::span<const std::string> names, int64_t every) {
  std::string text;
  const int64_t width = x.dim(1);
  const auto values = x.data<float>();
  for (int64_t row = 0; row < x.dim(0); row += every) {
    for (int64_t c = 1; c < width; ++c) text += fmt::format("{:5.1f}", values[row * width + c]);
    const std::string& guess = names[static_cast<size_t>(predictions.data<int64_t>()[row])];
    const std::string& truth = names[label_of(one_hot, row)];
    text += fmt::format("  -> {:<12} truth: {:<12}{}\n", guess, truth,
                        guess == truth ? "" : " (wrong)");
  }
  return text;
}

}  // namespace examples
