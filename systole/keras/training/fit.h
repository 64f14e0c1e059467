// The loops of fit(), evaluate() and predict() over arrays.
#pragma once

#include <vector>

#include "systole/keras/models/model.h"
#include "systole/keras/training/arrays.h"

namespace systole::keras {

// `arrays` as prepare_arrays() returns them.
History fit_arrays(ModelDefinition& model, const Arrays& arrays,
                   const std::optional<Arrays>& validation, const FitOptions& options);

// Values of metrics_names over all examples; `verbose` 1 draws a bar.
Scores evaluate_arrays(ModelDefinition& model, const Arrays& arrays, int64_t batch_size,
                       int verbose);

std::vector<Tensor> predict_arrays(ModelDefinition& model, const Arrays& arrays,
                                   int64_t batch_size);

// Errors: FAILED_PRECONDITION `You must compile your model before using it.`
Trainer& compiled(ModelDefinition& model);
// As compiled(), or with programs to predict only.
Trainer& compiled_or_bare(ModelDefinition& model);

}  // namespace systole::keras
