#include "systole/backends/cpu/kernels/lapack_routines.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include "systole/base/dtype.h"
#include "systole/base/error.h"
#include "systole/base/lapack.h"

namespace systole::cpu {
namespace {

using Types = std::vector<TensorType>;

constexpr DType kInfo = DType::s32;

TensorType matrix(const LapackProblem& p) { return {p.dtype, {p.rows, p.columns}}; }
TensorType vector_of(DType dtype, int size) { return {dtype, {std::max(size, 0)}}; }
TensorType info() { return {kInfo, {}}; }

// Calls F::run<T> for the problem's element type.
template <class F>
void call_typed(const LapackProblem& p, const LapackArrays& a) {
  switch (p.dtype) {
    case DType::f32:
      return F::template run<float>(p, a);
    case DType::f64:
      return F::template run<double>(p, a);
    case DType::c64:
      return F::template run<std::complex<float>>(p, a);
    default:
      return F::template run<std::complex<double>>(p, a);
  }
}

// Starts result 0 as the first operand, which the routine updates.
template <class T>
T* start_result(const LapackProblem& p, const LapackArrays& a) {
  const auto count = static_cast<size_t>(p.rows) * static_cast<size_t>(p.columns);
  if (count > 0) std::memcpy(a.out[0], a.in[0], count * sizeof(T));
  return a.out_as<T>(0);
}

struct Potrf {
  static Types results(const LapackProblem& p) { return {matrix(p), info()}; }
  template <class T>
  static void run(const LapackProblem& p, const LapackArrays& a) {
    T* const x = start_result<T>(p, a);
    *a.out_as<int>(1) = call_lapack<T>("potrf", p.letter("uplo"), p.columns, x, p.columns);
  }
};

struct Getrf {
  static Types results(const LapackProblem& p) {
    return {matrix(p), vector_of(kInfo, p.smaller()), info()};
  }
  template <class T>
  static void run(const LapackProblem& p, const LapackArrays& a) {
    T* const x = start_result<T>(p, a);
    *a.out_as<int>(2) = call_lapack<T>("getrf", p.rows, p.columns, x, p.columns, a.out_as<int>(1));
  }
};

struct Geqrf {
  static Types results(const LapackProblem& p) {
    return {matrix(p), vector_of(p.dtype, p.smaller())};
  }
  template <class T>
  static void run(const LapackProblem& p, const LapackArrays& a) {
    T* const x = start_result<T>(p, a);
    call_lapack<T>("geqrf", p.rows, p.columns, x, p.columns, a.out_as<T>(1));
  }
};

// orgqr and ungqr: the matrix of the reflectors that geqrf returns.
struct Orgqr {
  static Types results(const LapackProblem& p) { return {matrix(p)}; }
  template <class T>
  static void run(const LapackProblem& p, const LapackArrays& a) {
    T* const x = start_result<T>(p, a);
    call_lapack<T>(p.routine, p.rows, p.columns, p.right_columns, x, p.columns,
                   static_cast<const T*>(a.in_as<T>(1)));
  }
};

// ormqr and unmqr: the product of the last operand and the matrix of reflectors.
struct Ormqr {
  static bool left(const LapackProblem& p) { return p.setting("left") != 0; }
  static Types results(const LapackProblem& p) {
    const int side = left(p) ? p.right_rows : p.right_columns;
    if (side != p.rows || p.operands[1] != Shape({p.columns}) || p.columns > p.rows) {
      throw invalid_argument(
          "custom_call '{}': reflectors of {} with factors of {}, expected as many factors as "
          "columns, and {} rows",
          p.target, p.operands[0], p.operands[1], side);
    }
    return {{p.dtype, {p.right_rows, p.right_columns}}};
  }
  template <class T>
  static void run(const LapackProblem& p, const LapackArrays& a) {
    const auto count = static_cast<size_t>(p.right_rows) * static_cast<size_t>(p.right_columns);
    std::memcpy(a.out[0], a.in[2], count * sizeof(T));
    const char transposed = p.setting("transpose") == 0 ? 'N' : kIsComplex<T> ? 'C' : 'T';
    call_lapack<T>(p.routine, left(p) ? 'L' : 'R', transposed, p.right_rows, p.right_columns,
                   p.columns, static_cast<const T*>(a.in_as<T>(0)), p.columns,
                   static_cast<const T*>(a.in_as<T>(1)), a.out_as<T>(0), p.right_columns);
  }
};

// syevd and heevd.
struct Syevd {
  static Types results(const LapackProblem& p) {
    return {matrix(p), vector_of(real_dtype(p.dtype), p.columns), info()};
  }
  template <class T>
  static void run(const LapackProblem& p, const LapackArrays& a) {
    T* const x = start_result<T>(p, a);
    *a.out_as<int>(2) = call_lapack<T>(p.routine, p.letter("mode"), p.letter("uplo"), p.columns, x,
                                       p.columns, a.out_as<Real<T>>(1));
  }
};

struct Gesdd {
  // With mode 'A' all singular vectors, else those of the smaller side. With mode 'N' none is
  // computed, and the results have either shape.
  static bool all_vectors(const LapackProblem& p) {
    const char mode = p.letter("mode");
    if (mode != 'N') return mode == 'A';
    return p.wanted.size() > 3 && last(p.wanted[2], 1) == p.rows &&
           last(p.wanted[3], 2) == p.columns;
  }
  static int64_t last(const Shape& shape, int from_end) {
    return shape.rank() < from_end ? 0 : shape[shape.rank() - from_end];
  }
  static Types results(const LapackProblem& p) {
    const int left = all_vectors(p) ? p.rows : p.smaller();
    const int right = all_vectors(p) ? p.columns : p.smaller();
    return {matrix(p),
            vector_of(real_dtype(p.dtype), p.smaller()),
            {p.dtype, {p.rows, left}},
            {p.dtype, {right, p.columns}},
            info()};
  }
  template <class T>
  static void run(const LapackProblem& p, const LapackArrays& a) {
    T* const x = start_result<T>(p, a);
    const int left = all_vectors(p) ? p.rows : p.smaller();
    *a.out_as<int>(4) =
        call_lapack<T>("gesdd", p.letter("mode"), p.rows, p.columns, x, p.columns,
                       a.out_as<Real<T>>(1), a.out_as<T>(2), left, a.out_as<T>(3), p.columns);
  }
};

struct Geev {
  static Types results(const LapackProblem& p) {
    const DType complex = p.dtype == DType::f32   ? DType::c64
                          : p.dtype == DType::f64 ? DType::c128
                                                  : p.dtype;
    const TensorType vectors{complex, {p.rows, p.columns}};
    if (is_complex(p.dtype)) return {vector_of(p.dtype, p.columns), vectors, vectors, info()};
    const TensorType part = vector_of(p.dtype, p.columns);
    return {part, part, vectors, vectors, info()};
  }
  // The status for a matrix with infinities or NaNs, for which the routine may never end.
  static constexpr int kNotFinite = -4;
  template <class T>
  static bool all_finite(const T* x, size_t count) {
    return std::all_of(x, x + count, [](const T& value) {
      return std::isfinite(std::real(value)) && std::isfinite(std::imag(value));
    });
  }
  // The vectors of a pair of conjugate eigenvalues are columns with their real and imaginary parts.
  template <class T>
  static void unpack(const std::vector<T>& packed, const T* imaginary, int n,
                     std::complex<T>* vectors) {
    const auto size = static_cast<size_t>(n);
    for (size_t j = 0; j < size; ++j) {
      const bool pair = imaginary[j] != 0 && j + 1 < size;
      for (size_t i = 0; i < size; ++i) {
        const T re = packed[i * size + j];
        const T im = pair ? packed[i * size + j + 1] : T(0);
        vectors[i * size + j] = {re, im};
        if (pair) vectors[i * size + j + 1] = {re, -im};
      }
      if (pair) ++j;
    }
  }
  template <class T>
  static void run(const LapackProblem& p, const LapackArrays& a) {
    const int n = p.columns;
    const char left = p.letter("compute_left");
    const char right = p.letter("compute_right");
    T* const x = a.in_as<T>(0);
    if (!all_finite(x, static_cast<size_t>(n) * static_cast<size_t>(n))) {
      *a.out_as<int>(kIsComplex<T> ? 3 : 4) = kNotFinite;
      return;
    }
    if constexpr (kIsComplex<T>) {
      *a.out_as<int>(3) = call_lapack<T>("geev", left, right, n, x, n, a.out_as<T>(0),
                                         a.out_as<T>(1), n, a.out_as<T>(2), n);
    } else {
      const size_t count = static_cast<size_t>(n) * static_cast<size_t>(n);
      std::vector<T> packed_left(count);
      std::vector<T> packed_right(count);
      *a.out_as<int>(4) =
          call_lapack<T>("geev", left, right, n, x, n, a.out_as<T>(0), a.out_as<T>(1),
                         packed_left.data(), n, packed_right.data(), n);
      unpack(packed_left, a.out_as<T>(1), n, a.out_as<std::complex<T>>(2));
      unpack(packed_right, a.out_as<T>(1), n, a.out_as<std::complex<T>>(3));
    }
  }
};

// The Schur decomposition, in no particular order of the eigenvalues.
struct Gees {
  static Types results(const LapackProblem& p) {
    const TensorType values = vector_of(p.dtype, p.columns);
    if (is_complex(p.dtype)) return {matrix(p), matrix(p), values, info(), info()};
    return {matrix(p), matrix(p), values, values, info(), info()};
  }
  template <class T>
  static void run(const LapackProblem& p, const LapackArrays& a) {
    if (p.letter("sort") != 'N') {
      throw unimplemented("custom_call '{}': sort, got '{}', expected 'N'", p.target,
                          p.letter("sort"));
    }
    const int n = p.columns;
    T* const x = start_result<T>(p, a);
    void* const no_selection = nullptr;
    if constexpr (kIsComplex<T>) {
      *a.out_as<int>(4) = call_lapack<T>("gees", p.letter("mode"), 'N', no_selection, n, x, n,
                                         a.out_as<int>(3), a.out_as<T>(2), a.out_as<T>(1), n);
    } else {
      *a.out_as<int>(5) =
          call_lapack<T>("gees", p.letter("mode"), 'N', no_selection, n, x, n, a.out_as<int>(4),
                         a.out_as<T>(2), a.out_as<T>(3), a.out_as<T>(1), n);
    }
  }
};

struct Gehrd {
  static Types results(const LapackProblem& p) {
    return {matrix(p), vector_of(p.dtype, p.columns - 1), info()};
  }
  template <class T>
  static void run(const LapackProblem& p, const LapackArrays& a) {
    T* const x = start_result<T>(p, a);
    *a.out_as<int>(2) = call_lapack<T>("gehrd", p.columns, p.setting("low"), p.setting("high"), x,
                                       p.columns, a.out_as<T>(1));
  }
};

// sytrd and hetrd.
struct Sytrd {
  static Types results(const LapackProblem& p) {
    const DType real = real_dtype(p.dtype);
    return {matrix(p), vector_of(real, p.columns), vector_of(real, p.columns - 1),
            vector_of(p.dtype, p.columns - 1), info()};
  }
  template <class T>
  static void run(const LapackProblem& p, const LapackArrays& a) {
    T* const x = start_result<T>(p, a);
    *a.out_as<int>(4) = call_lapack<T>(p.routine, p.letter("uplo"), p.columns, x, p.columns,
                                       a.out_as<Real<T>>(1), a.out_as<Real<T>>(2), a.out_as<T>(3));
  }
};

// A tridiagonal system. The first operand's first element and the third's last are not used.
struct Gtsv {
  static Types results(const LapackProblem& p) {
    const TensorType diagonal = vector_of(p.dtype, p.columns);
    for (size_t i = 1; i < 3; ++i) {
      if (p.operands[i] == p.operands[0] && p.right_rows == p.columns) continue;
      throw invalid_argument("custom_call '{}': operand {}, got {} with {} rows, expected {}",
                             p.target, i, p.operands[i], p.right_rows, p.operands[0]);
    }
    return {diagonal, diagonal, diagonal, {p.dtype, {p.columns, p.right_columns}}, info()};
  }
  template <class T>
  static void run(const LapackProblem& p, const LapackArrays& a) {
    const auto n = static_cast<size_t>(p.columns);
    for (size_t i = 0; i < 3; ++i) std::memcpy(a.out[i], a.in[i], n * sizeof(T));
    std::memcpy(a.out[3], a.in[3], n * static_cast<size_t>(p.right_columns) * sizeof(T));
    *a.out_as<int>(4) =
        call_lapack<T>("gtsv", p.columns, p.right_columns, a.out_as<T>(0) + 1, a.out_as<T>(1),
                       a.out_as<T>(2), a.out_as<T>(3), p.right_columns);
  }
};

// A triangular system, by BLAS. Fortran sees the transposes of row-major arrays: op(A) X = B is
// X' op(A)' = B', with A' for A, so the sides and the triangles change places.
struct Trsm {
  static Types results(const LapackProblem& p) {
    const int solved = p.letter("side") == 'L' ? p.right_rows : p.right_columns;
    if (solved != p.columns) {
      throw invalid_argument("custom_call '{}': matrices of {} and {}, expected equal sizes",
                             p.target, p.columns, solved);
    }
    return {{p.dtype, {p.right_rows, p.right_columns}}};
  }
  template <class T>
  static void run(const LapackProblem& p, const LapackArrays& a) {
    const TensorType type = results(p)[0];
    std::memcpy(a.out[0], a.in[1], static_cast<size_t>(type.byte_size()));
    const int m = static_cast<int>(type.shape[1]);
    const int n = static_cast<int>(type.shape[0]);
    const char side = p.letter("side") == 'L' ? 'R' : 'L';
    const char triangle = p.letter("uplo") == 'L' ? 'U' : 'L';
    const char transposed = p.letter("trans_x");
    const char diagonal = p.letter("diag");
    const T one = 1;
    const int lda = std::max(p.columns, 1);
    const int ldb = std::max(m, 1);
    using Function =
        void (*)(const char*, const char*, const char*, const char*, const int*, const int*,
                 const T*, const T*, const int*, T*, const int*, size_t, size_t, size_t, size_t);
    const auto function = reinterpret_cast<Function>(
        find_lapack_symbol(std::string(1, lapack_letter<T>()) + "trsm_"));
    function(&side, &triangle, &transposed, &diagonal, &m, &n, &one, a.in_as<T>(0), &lda,
             a.out_as<T>(0), &ldb, 1, 1, 1, 1);
  }
};

constexpr LapackRoutine kRoutines[] = {
    {"potrf", true, true, true, "2", Potrf::results, call_typed<Potrf>},
    {"getrf", true, true, false, "2", Getrf::results, call_typed<Getrf>},
    {"geqrf", true, true, false, "2", Geqrf::results, call_typed<Geqrf>},
    {"orgqr", true, false, false, "21", Orgqr::results, call_typed<Orgqr>},
    {"ungqr", false, true, false, "21", Orgqr::results, call_typed<Orgqr>},
    {"ormqr", true, false, false, "212", Ormqr::results, call_typed<Ormqr>},
    {"unmqr", false, true, false, "212", Ormqr::results, call_typed<Ormqr>},
    {"syevd", true, false, true, "2", Syevd::results, call_typed<Syevd>},
    {"heevd", false, true, true, "2", Syevd::results, call_typed<Syevd>},
    {"gesdd", true, true, false, "2", Gesdd::results, call_typed<Gesdd>},
    {"geev", true, true, true, "2", Geev::results, call_typed<Geev>},
    {"gees", true, true, true, "2", Gees::results, call_typed<Gees>},
    {"gehrd", true, true, true, "2", Gehrd::results, call_typed<Gehrd>},
    {"sytrd", true, false, true, "2", Sytrd::results, call_typed<Sytrd>},
    {"hetrd", false, true, true, "2", Sytrd::results, call_typed<Sytrd>},
    {"gtsv", true, true, false, "1112", Gtsv::results, call_typed<Gtsv>},
    {"trsm", true, true, true, "22", Trsm::results, call_typed<Trsm>},
};

}  // namespace

int LapackProblem::setting(const std::string& name) const {
  const auto found = settings.find(name);
  if (found != settings.end()) return found->second;
  throw invalid_argument("custom_call '{}': setting '{}' is missing", target, name);
}

const LapackRoutine* find_lapack_routine(std::string_view name, DType dtype) {
  for (const LapackRoutine& routine : kRoutines) {
    if (routine.name != name) continue;
    return (is_complex(dtype) ? routine.for_complex : routine.for_real) ? &routine : nullptr;
  }
  return nullptr;
}

}  // namespace systole::cpu
