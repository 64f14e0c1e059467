// Equations of Einstein's summation convention.
//   equation = term *("," term) ["->" term]        term = ["..."] *letter, spaces anywhere
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "systole/base/shape.h"

namespace systole {

// A term as labels, one an axis: letters as themselves; "..." is one '.', which stands for any
// number of leading axes.
struct EinsumEquation {
  std::vector<std::string> operands;
  std::string result;

  std::string to_string() const;  // "...ij,jk->...ik"
};

// Without "->" the result has "..." where an operand has it, then, in alphabetical order, the
// letters that are there once. Errors: INVALID_ARGUMENT names the equation and what is wrong with
// it; UNIMPLEMENTED for a letter twice in one operand and for "..." after a letter.
EinsumEquation parse_einsum(std::string_view equation, size_t num_operands);

// The labels of a term's axes for a tensor of `rank`: letters, and for "..." labels that count from
// the right, so that equal labels of two operands are aligned. Errors: INVALID_ARGUMENT when the
// rank does not fit.
Dims einsum_labels(std::string_view term, int rank);
// How many axes "..." stands for in a tensor of `rank`.
int ellipsis_rank(std::string_view term, int rank);
bool is_ellipsis_label(int64_t label);

}  // namespace systole
