// Returns the passes of all backends, in order. They take modules without quantized types; see
// passes/expand_quantized.h. Backends run their own passes (fusion, layouts,
// combining all-reduces) after these.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

Pipeline optimization_pipeline(
    const PipelineOptions& options = PipelineOptions::from_environment());

// Runs the pipeline: rewrites the module into an equivalent, smaller and faster one. Deterministic.
// Errors: those of Pipeline::run. `options` says what to verify, dump and skip.
void optimize(Module& module, const PipelineOptions& options = PipelineOptions::from_environment());

}  // namespace systole::hlo
