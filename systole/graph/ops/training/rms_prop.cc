#include "systole/graph/ops/training/rms_prop.h"

#include "systole/graph/ops/training/training_common.h"

namespace systole {
namespace {

// Positions of the inputs. A mean gradient, if any, follows the variable.
enum : int { kVar, kMeanGradient };
struct Positions {
  explicit Positions(bool centered) : first(centered ? 2 : 1) {}
  int first;
  int mean_square = first;
  int momentum_slot = first + 1;
  int learning_rate = first + 2;
  int rho = first + 3;
  int momentum = first + 4;
  int epsilon = first + 5;
  int gradient = first + 6;
};

}  // namespace

std::vector<TensorType> infer_rms_prop(const InferContext& c, bool centered) {
  const Positions at(centered);
  return infer_update(c, /*num_handles=*/at.learning_rate, at.gradient);
}

std::vector<hlo::Value> lower_rms_prop(LowerContext& c, bool centered) {
  const Positions at(centered);
  const UpdateLowering u(c, at.gradient);
  hlo::Builder& b = c.b;
  const hlo::Value gradient = u.tensor(at.gradient);
  const hlo::Value forget = u.spread(u.complement(u.tensor(at.rho)));
  const hlo::Value mean_square =
      u.move_towards(u.variable(at.mean_square), b.multiply(gradient, gradient), forget);
  u.assign(at.mean_square, mean_square);
  hlo::Value variance = mean_square;
  if (centered) {
    const hlo::Value mean = u.move_towards(u.variable(kMeanGradient), gradient, forget);
    u.assign(kMeanGradient, mean);
    variance = b.subtract(mean_square, b.multiply(mean, mean));
  }
  const hlo::Value scale = b.unary(hlo::Opcode::rsqrt, b.add(variance, u.scalar(at.epsilon)));
  const hlo::Value step = b.multiply(b.multiply(u.scalar(at.learning_rate), gradient), scale);
  const hlo::Value momentum =
      b.add(b.multiply(u.scalar(at.momentum), u.variable(at.momentum_slot)), step);
  u.assign(at.momentum_slot, momentum);
  u.assign(kVar, b.subtract(u.variable(kVar), momentum));
  return {};
}

}  // namespace systole
