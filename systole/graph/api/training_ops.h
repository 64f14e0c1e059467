// The update rules of optimizers, one op each, named and computed as TensorFlow's resource ops.
// Users call train/optimizer.h; these are what it builds. Every `handle` is a Variable::handle();
// scalars have the variable's dtype; `gradient` has its type, or with valid `indices` [n] is n
// rows, of which no other row of the variable and its slots is touched. REQUIRES: no index occurs
// twice; -1 is no row. Each assigns and returns nothing.
#pragma once

#include "systole/graph/api/graph.h"

namespace systole {

// var -= learning_rate * gradient
Operation apply_gradient_descent(Output var, Output learning_rate, Output gradient);

// accum = momentum * accum + gradient; var -= learning_rate * accum
// Nesterov: var -= learning_rate * (gradient + momentum * accum)
Operation apply_momentum(Output var, Output accum, Output learning_rate, Output gradient,
                         Output momentum, bool use_nesterov, const Output& indices = {});

// accum += gradient^2; var -= learning_rate * gradient / sqrt(accum)
Operation apply_adagrad(Output var, Output accum, Output learning_rate, Output gradient,
                        const Output& indices = {});

struct AdadeltaInputs {
  Output var, accum, accum_update;  // handles
  Output learning_rate, rho, epsilon;
  Output gradient;
  Output indices = {};
};
// accum += (1 - rho)(g^2 - accum); update = g * sqrt(accum_update + epsilon) / sqrt(accum +
// epsilon); accum_update += (1 - rho)(update^2 - accum_update); var -= learning_rate * update
// Source: Zeiler, arXiv 1212.5701.
Operation apply_adadelta(const AdadeltaInputs& inputs);

struct FtrlInputs {
  Output var, accum, linear;  // handles
  Output learning_rate, l1, l2, learning_rate_power;
  Output gradient;
  Output indices = {};
};
// With a = accum ^ -learning_rate_power, before and after accum += g^2:
// linear += g - (a' - a) / learning_rate * var;
// var = (clip(linear, -l1, l1) - linear) / (a' / learning_rate + 2 * l2)
// Source: McMahan et al., "Ad click prediction: a view from the trenches", 2013.
Operation apply_ftrl(const FtrlInputs& inputs);

struct AdamInputs {
  Output var, m, v;                 // handles
  Output beta1_power, beta2_power;  // beta^t at step t, values
  Output learning_rate, beta1, beta2, epsilon;
  Output gradient;
};
// m += (1 - beta1)(g - m); v += (1 - beta2)(g^2 - v);
// var -= learning_rate * sqrt(1 - beta2_power) / (1 - beta1_power) * m / (sqrt(v) + epsilon)
// Source: Kingma and Ba, arXiv 1412.6980, the formulation before section 2.1 ("epsilon hat").
Operation apply_adam(const AdamInputs& inputs);

struct RMSPropInputs {
  Output var, mean_square, momentum_slot;  // handles
  Output mean_gradient;                    // handle, of the centered form only
  Output learning_rate, rho, momentum, epsilon;
  Output gradient;
  Output indices = {};
};
// ms += (1 - rho)(g^2 - ms); mom = momentum * mom + learning_rate * g / sqrt(ms + epsilon); var -=
// mom
Operation apply_rms_prop(const RMSPropInputs& inputs);
// mg += (1 - rho)(g - mg), and ms - mg^2 in place of ms under the root.
Operation apply_centered_rms_prop(const RMSPropInputs& inputs);

}  // namespace systole
