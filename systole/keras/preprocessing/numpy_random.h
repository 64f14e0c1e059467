// The random numbers of NumPy's global generator after numpy.random.seed(seed): the Mersenne
// Twister MT19937. Data sets and preprocessing draw as Keras does, so that equal seeds give equal
// orders. Source: Matsumoto, Nishimura, "Mersenne Twister", ACM TOMACS 8(1), 1998.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace systole::keras {

// Not thread-safe. A value type.
class NumpyRandom {
 public:
  // numpy.random.seed(seed).
  explicit NumpyRandom(uint32_t seed) : engine_(seed) {}

  uint32_t next_u32() { return static_cast<uint32_t>(engine_()); }
  // numpy.random.random_sample(): in [0, 1), 53 random bits.
  double random();
  // numpy.random.uniform(low, high).
  double uniform(double low, double high) { return low + (high - low) * random(); }
  // An integer in [0, max], as numpy's shuffle and randint draw it: random bits, masked and drawn
  // again until they are in range.
  uint64_t below_or_equal(uint64_t max);
  // numpy.random.shuffle(items).
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i-- > 1;) std::swap(items[i], items[below_or_equal(i)]);
  }
  // numpy.random.permutation(n).
  std::vector<int64_t> permutation(int64_t n);

 private:
  std::mt19937 engine_;
};

}  // namespace systole::keras
