// tensordot of math_ops.h, as an einsum.
#include <algorithm>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"

namespace systole {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// As two lists of the same length.
TensordotAxes as_lists(const TensordotAxes& axes, int a_rank, int b_rank) {
  TensordotAxes lists = axes;
  if (axes.count > a_rank || axes.count > b_rank) {
    throw invalid_argument("axes, got {}, expected at most the ranks, {} and {}", axes.count,
                           a_rank, b_rank);
  }
  for (int i = 0; i < axes.count; ++i) {
    lists.a.push_back(a_rank - axes.count + i);
    lists.b.push_back(i);
  }
  if (lists.a.size() != lists.b.size()) {
    throw invalid_argument("axes, got {} of a and {} of b, expected as many", lists.a.size(),
                           lists.b.size());
  }
  for (int64_t& axis : lists.a) axis = normalize_axis(axis, a_rank);
  for (int64_t& axis : lists.b) axis = normalize_axis(axis, b_rank);
  normalize_axes(lists.a, a_rank);
  normalize_axes(lists.b, b_rank);
  return lists;
}

void check_sizes(const Shape& a, const Shape& b, const TensordotAxes& lists) {
  for (size_t i = 0; i < lists.a.size(); ++i) {
    const int64_t m = a[static_cast<int>(lists.a[i])];
    const int64_t n = b[static_cast<int>(lists.b[i])];
    if (m == n || m == kUnknown || n == kUnknown) continue;
    throw invalid_argument("shapes, got {} and {}, expected equal sizes of axes {} and {}", a, b,
                           lists.a[i], lists.b[i]);
  }
}

std::string equation(const Shape& a, const Shape& b, const TensordotAxes& axes) {
  const TensordotAxes lists = as_lists(axes, a.rank(), b.rank());
  check_sizes(a, b, lists);
  if (a.rank() + b.rank() > static_cast<int>(kLetters.size())) {
    throw invalid_argument("ranks, got {} and {}, expected at most {} together", a.rank(), b.rank(),
                           kLetters.size());
  }
  const std::string a_term(kLetters.substr(0, static_cast<size_t>(a.rank())));
  std::string b_term(kLetters.substr(a_term.size(), static_cast<size_t>(b.rank())));
  std::string result = a_term + b_term;
  for (size_t i = 0; i < lists.a.size(); ++i) {
    const char shared = a_term[lists.a[i]];
    char& other = b_term[lists.b[i]];
    std::erase(result, shared);
    std::erase(result, other);
    other = shared;
  }
  return a_term + "," + b_term + "->" + result;
}

}  // namespace

Output tensordot(const Input& a, const Input& b, const TensordotAxes& axes,
                 const NameOptions& options) {
  const CompositionScope scope(a, options.name, "Tensordot");
  const std::vector<Output> operands = resolve("Tensordot", {a, b}, common_dtype({a, b}));
  std::string terms;
  try {
    terms = equation(operands[0].shape(), operands[1].shape(), axes);
  } catch (const Error& error) {
    throw at_line(Error(error.code(), fmt::format("Tensordot: {}", error.message())), a.where());
  }
  return einsum(terms, operands, scope.result());
}

}  // namespace systole
