// LAPACK through LAPACKE's C interface, loaded at run time.
#pragma once

#include <complex>
#include <string>
#include <type_traits>

namespace systole {

// Loads liblapacke.so.3 unless it is loaded. Errors: UNIMPLEMENTED, naming `target`, if it cannot
// be.
void load_lapack(const std::string& target);

// Returns a function of liblapacke.so.3 or of the libraries that it loads. Errors: UNIMPLEMENTED if
// there is none.
void* find_lapack_symbol(const std::string& name);

template <class T>
struct RealOf {
  using type = T;  // NOLINT(readability-identifier-naming): as in the standard library
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;  // NOLINT(readability-identifier-naming)
};
template <class T>
using Real = typename RealOf<T>::type;

template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

// The letter of an element type in the names of routines.
template <class T>
constexpr char lapack_letter() {
  constexpr bool kSingle = sizeof(Real<T>) == sizeof(float);
  return kIsComplex<T> ? (kSingle ? 'c' : 'z') : (kSingle ? 's' : 'd');
}

// Calls LAPACKE_<letter><routine> on row-major arrays. Returns its status: 0, or the number that
// the routine reports. Errors: INTERNAL for arguments that the routine refuses.
int check_lapack_status(const std::string& routine, int status);
template <class T, class... Args>
int call_lapack(const std::string& routine, Args... args) {
  constexpr int kRowMajor = 101;
  const std::string name = std::string("LAPACKE_") + lapack_letter<T>() + routine;
  const auto function = reinterpret_cast<int (*)(int, Args...)>(find_lapack_symbol(name));
  return check_lapack_status(name, function(kRowMajor, args...));
}

}  // namespace systole
