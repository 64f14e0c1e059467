// Lines that do not compile. The comment is a part of what the compiler must say of the line.
#include "systole/systole.h"

namespace st = systole;

void forms(const st::Output& x, const st::Output& y) {
  st::concat(1, {x, y});                        // error: write concat({x, y}, axis)
  st::reduce_sum(x, "total");                   // error: write reduce_sum(x, {.name = "n"})
  st::layers::dense(x, 10, st::relu, "dense");  // error: write dense(x, units, {.activation = relu
  if (x > y) return;                            // error: a tensor of a graph has no value yet
  st::softmax_cross_entropy_with_logits(x, y);  // error: write softmax_cross_entropy_with_logits({
  st::sigmoid_cross_entropy_with_logits(x, y);  // error: write sigmoid_cross_entropy_with_logits({
}
