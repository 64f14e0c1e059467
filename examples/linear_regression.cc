// Fits y = 2x + 1: the first program of the README.
#include <cstdio>

#include "systole/systole.h"

int main() {
  auto x = st::placeholder("float", {-1});
  auto y = st::placeholder("float", {-1});
  st::Variable w(0.0F), b(0.0F);
  auto loss = st::reduce_mean(st::square(w * x + b - y));
  auto train = st::GradientDescentOptimizer(0.05).minimize(loss);

  st::Session sess;
  sess.run(st::global_variables_initializer());
  const std::vector<float> xs = {0, 1, 2, 3}, ys = {1, 3, 5, 7};
  for (int step = 0; step < 500; ++step) sess.run(train, {{x, xs}, {y, ys}});
  std::printf("w = %.3f, b = %.3f\n", sess.run(w).item<float>(), sess.run(b).item<float>());
}
