#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::cpu {

// Writes convolutions that are none of oneDNN's (kernels/convolution_problem.h) with what is one:
//   window reversed along some axes     -> a reversed kernel
//   batch groups                        -> feature groups of a transposed input
//   input dilated otherwise, or cut     -> a padded input
// Leaves types that oneDNN does not have, and convolutions of no more than `small_work`
// multiplications, which are not worth the copies.
class CanonicalizeConvolutions : public hlo::Pass {
 public:
  explicit CanonicalizeConvolutions(double small_work = 1 << 18) : small_work_(small_work) {}
  std::string_view name() const override { return "canonicalize_convolutions"; }
  bool run(hlo::Module& module) override;

 private:
  double small_work_;
};

}  // namespace systole::cpu
