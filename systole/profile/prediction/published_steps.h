// Times on Cloud TPUs that others published, beside which predictions are put. Nothing is fitted to
// them.
#pragma once

#include <string>
#include <vector>

#include "systole/profile/prediction/step_cost.h"

namespace systole::profile {

struct PublishedStep {
  std::string name;
  std::string system;  // "v2-8"
  double measured_seconds = 0;
  StepCost cost;  // of one core
  // What was measured: a whole step, or a part of it.
  double StepPrediction::*part = &StepPrediction::step_seconds;
  std::string source;

  double predicted_seconds() const;
};

std::vector<PublishedStep> published_steps();

}  // namespace systole::profile
