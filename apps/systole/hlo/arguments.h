// What a program is given: arrays of files, or random ones; and arrays as a person reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"

namespace systole::app {

// Adds the tensor's bytes to `sum`; what is beyond 2^63 stays just below it.
void add_bytes(int64_t& sum, const TensorType& type);

// Numbers in [-1, 1), whole ones in [0, 8), either truth value: a function of the seed, the number
// of the argument and the type.
Tensor random_argument(const TensorType& type, uint64_t seed, uint64_t number);

// One for each parameter of main.
std::vector<Tensor> random_arguments(const hlo::Module& module, uint64_t seed);

// Errors: INVALID_ARGUMENT for an input that is not "number=file.npy".
void check_inputs(const std::vector<std::string>& inputs);

// `inputs` are "number=file.npy", each for the parameter of that number. The others get random
// values where `seed` is given; tokens, which have no value, need none. Errors: INVALID_ARGUMENT
// names the input that is malformed, that no parameter has, that is given twice or is of another
// type; lists those that are missing; those of the file. RESOURCE_EXHAUSTED, before any is made,
// where they and main's results need more memory than the host has.
std::vector<Tensor> read_arguments(const hlo::Module& module,
                                   const std::vector<std::string>& inputs,
                                   const std::optional<uint64_t>& seed);

// Numpy has no elements of 4 bits: .npy files hold them as i8 and ui8.
// Returns the tensor as a file holds it.
Tensor widened(const Tensor& tensor);
// Returns a file's tensor as `wanted`, if that is its type with elements of 4 bits. Errors:
// INVALID_ARGUMENT for an element out of range, after `what`.
Tensor narrowed(const Tensor& tensor, const TensorType& wanted, std::string_view what);

// "f32[2,3]", then the elements, a row a line: {{1, 2, 3}, {4, 5, 6}} ends in two lines. Of an
// axis with more than a few elements in a large tensor the first and the last ones are shown.
std::string readable(const Tensor& tensor);

}  // namespace systole::app
