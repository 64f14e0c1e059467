// The arguments of a program, from files or random, and the display of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"

namespace systole::app {

// Adds the tensor's bytes to `sum`, saturating at 2^63 - 1.
void add_bytes(int64_t& sum, const TensorType& type);

// Returns random floats in [-1, 1), integers in [0, 8), or truth values, as a function of the seed,
// the number of the argument and the type.
Tensor random_argument(const TensorType& type, uint64_t seed, uint64_t number);

// Returns one argument for each parameter of main.
std::vector<Tensor> random_arguments(const hlo::Module& module, uint64_t seed);

// Checks that inputs are of the form "number=file.npy". Errors: INVALID_ARGUMENT.
void check_inputs(const std::vector<std::string>& inputs);

// Returns the arguments of main. `inputs` are "number=file.npy", with the number of a parameter.
// The other parameters get random values if `seed` is given; tokens need none.
//
// Errors: INVALID_ARGUMENT for an input that is malformed, given twice, of the wrong type or
// without a parameter, and for missing inputs, which are listed; those of the file;
// RESOURCE_EXHAUSTED, before any array is allocated, if arguments and results need more memory than
// the host has.
std::vector<Tensor> read_arguments(const hlo::Module& module,
                                   const std::vector<std::string>& inputs,
                                   const std::optional<uint64_t>& seed);

// numpy has no 4-bit elements: .npy files hold them as i8 and ui8. Returns the tensor as a file
// holds it.
Tensor widened(const Tensor& tensor);
// Converts a file's tensor to `wanted` if that is its type with 4-bit elements; returns other
// tensors unchanged. Errors: INVALID_ARGUMENT, beginning with `what`, for an element out of range.
Tensor narrowed(const Tensor& tensor, const TensorType& wanted, std::string_view what);

// Formats a tensor: "f32[2,3]", then the elements, one row per line: {{1, 2, 3}, {4, 5, 6}} takes
// two lines. Large tensors are abbreviated to the first and last elements of each axis.
std::string readable(const Tensor& tensor);

}  // namespace systole::app
