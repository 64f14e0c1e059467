// The routines of LAPACK that programs call, by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/shape.h"

namespace systole::cpu {

// A call of a routine, without its arrays.
struct LapackProblem {
  std::string target;   // "lapack_dpotrf_ffi"
  std::string routine;  // "potrf"
  DType dtype;
  int rows = 0;  // of the first operand's matrices
  int columns = 0;
  int right_rows = 0;                   // of the last operand's matrices
  int right_columns = 0;                // of the last operand's matrices or vectors
  std::vector<Shape> operands;          // of one matrix or vector each
  std::vector<Shape> wanted;            // the results' shapes, with the batch
  std::map<std::string, int> settings;  // backend_config: {uplo = 76 : ui8}

  // Errors: INVALID_ARGUMENT if it is missing.
  int setting(const std::string& name) const;
  char letter(const std::string& name) const { return static_cast<char>(setting(name)); }
  int smaller() const { return rows < columns ? rows : columns; }
};

// The arrays of one matrix of a batch. `in` are copies, which the routine may overwrite.
struct LapackArrays {
  std::span<std::byte* const> in;
  std::span<std::byte* const> out;

  template <class T>
  T* in_as(size_t i) const {
    return reinterpret_cast<T*>(in[i]);
  }
  template <class T>
  T* out_as(size_t i) const {
    return reinterpret_cast<T*>(out[i]);
  }
};

struct LapackRoutine {
  std::string_view name;
  bool for_real = true;
  bool for_complex = true;
  bool square = false;            // whether the first operand's matrices must be
  std::string_view operand_axes;  // by operand, of one matrix or vector: "21"
  // The types of the results for one matrix of each operand.
  std::vector<TensorType> (*results)(const LapackProblem& problem) = nullptr;
  void (*call)(const LapackProblem& problem, const LapackArrays& arrays) = nullptr;
};

// Returns nullptr if there is none.
const LapackRoutine* find_lapack_routine(std::string_view name, DType dtype);

}  // namespace systole::cpu
