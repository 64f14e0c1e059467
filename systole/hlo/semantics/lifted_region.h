// Applies a region of scalars to whole tensors. A reducer or comparator without a fast path then
// costs nanoseconds per element instead of microseconds.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "systole/hlo/semantics/evaluator.h"

namespace systole::hlo {

// If all instructions of the region are elementwise, it is rewritten for vectors; otherwise it runs
// once per element. Not thread-safe. `region` and `evaluator` must outlive it.
class LiftedRegion {
 public:
  LiftedRegion(const Computation& region, const Evaluator& evaluator);

  // Returns results[k][i] = region(inputs[0][i], inputs[1][i]...)[k]. The inputs have the same
  // shape and the element types of the region's parameters; the results have that shape.
  std::vector<Tensor> apply(std::span<const Tensor> inputs) const;

 private:
  std::vector<Tensor> apply_to_each(std::span<const Tensor> inputs,
                                    std::vector<Tensor> results) const;

  const Computation& region_;
  const Evaluator& evaluator_;
  bool liftable_;
  mutable std::unique_ptr<Module> lifted_;  // for vectors of `lifted_size_` elements
  mutable int64_t lifted_size_ = -1;
};

// Returns the elements at row-major `offsets` as a vector.
Tensor elements_at(const Tensor& tensor, std::span<const int64_t> offsets);

// For each i in order: results[*][targets[i]] = region(results[*][targets[i]]...,
// updates[*][i]...). Updates are vectors. Each round applies one update per target.
void fold_into(std::vector<Tensor>& results, std::span<const int64_t> targets,
               std::span<const Tensor> updates, const LiftedRegion& region);

}  // namespace systole::hlo
