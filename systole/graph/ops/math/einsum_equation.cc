#include "systole/graph/ops/math/einsum_equation.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "systole/base/error.h"

namespace systole {
namespace {

constexpr int64_t kEllipsis = 1000;  // above all letters

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string parse_term(std::string_view equation, std::string_view term) {
  std::string labels;
  if (term.starts_with("...")) {
    labels.push_back('.');
    term.remove_prefix(3);
  }
  if (term.find("...") != std::string_view::npos) {
    throw unimplemented("einsum: equation '{}', got '...' after a letter, expected it first",
                        equation);
  }
  for (const char c : term) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) {
      throw invalid_argument("einsum: equation '{}', got '{}', expected letters and '...'",
                             equation, c);
    }
    labels += c;
  }
  return labels;
}

void check_unique(std::string_view equation, const std::string& term, bool result) {
  for (const char label : term) {
    if (std::ranges::count(term, label) == 1) continue;
    if (result) {
      throw invalid_argument(
          "einsum: equation '{}', got '{}' twice in the result, expected it once", equation, label);
    }
    throw unimplemented("einsum: equation '{}', got '{}' twice in one operand, expected it once",
                        equation, label);
  }
}

std::string implicit_result(const std::vector<std::string>& operands) {
  std::map<char, int> counts;
  for (const std::string& operand : operands) {
    for (const char label : operand) ++counts[label];
  }
  std::string result;
  for (const auto& [label, count] : counts) {
    if (count == 1 || label == '.') result += label;  // '.' sorts before all letters
  }
  return result;
}

}  // namespace

std::string EinsumEquation::to_string() const {
  std::string text;
  const auto append = [&](const std::string& term) {
    for (const char label : term) text += label == '.' ? std::string("...") : std::string(1, label);
  };
  for (const std::string& operand : operands) {
    if (!text.empty() || &operand != &operands.front()) text += ',';
    append(operand);
  }
  text += "->";
  append(result);
  return text;
}

EinsumEquation parse_einsum(std::string_view equation, size_t num_operands) {
  std::string text;
  std::ranges::copy_if(equation, std::back_inserter(text), [](char c) { return c != ' '; });
  const size_t arrow = text.find("->");
  EinsumEquation parsed;
  for (const std::string& term : split(std::string_view(text).substr(0, arrow), ',')) {
    parsed.operands.push_back(parse_term(equation, term));
    check_unique(equation, parsed.operands.back(), false);
  }
  if (parsed.operands.size() != num_operands) {
    throw invalid_argument("einsum: operands of '{}', got {}, expected {}", equation, num_operands,
                           parsed.operands.size());
  }
  if (arrow == std::string::npos) {
    parsed.result = implicit_result(parsed.operands);
    return parsed;
  }
  parsed.result = parse_term(equation, std::string_view(text).substr(arrow + 2));
  check_unique(equation, parsed.result, true);
  for (const char label : parsed.result) {
    const auto has_label = [label](const std::string& term) {
      return term.find(label) != std::string::npos;
    };
    if (std::ranges::any_of(parsed.operands, has_label)) continue;
    throw invalid_argument(
        "einsum: equation '{}', got '{}' in the result alone, expected it in an operand too",
        equation, label == '.' ? std::string("...") : std::string(1, label));
  }
  return parsed;
}

int ellipsis_rank(std::string_view term, int rank) {
  if (!term.starts_with('.')) return 0;
  return rank - static_cast<int>(term.size()) + 1;
}

Dims einsum_labels(std::string_view term, int rank) {
  const bool ellipsis = term.starts_with('.');
  const auto letters = static_cast<int>(term.size()) - (ellipsis ? 1 : 0);
  if (rank < letters || (rank != letters && !ellipsis)) {
    throw invalid_argument("rank of the operand '{}', got {}, expected {}{}", term, rank, letters,
                           ellipsis ? " or more" : "");
  }
  Dims labels;
  for (int i = ellipsis_rank(term, rank) - 1; i >= 0; --i) labels.push_back(kEllipsis + i);
  for (const char label : term) {
    if (label != '.') labels.push_back(label);
  }
  return labels;
}

bool is_ellipsis_label(int64_t label) { return label >= kEllipsis; }

}  // namespace systole
