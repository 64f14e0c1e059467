// The passes that every backend wants, in their order. What depends on a device (fusion, layouts,
// combining all-reduces) is the backend's, behind this.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

Pipeline optimization_pipeline(
    const PipelineOptions& options = PipelineOptions::from_environment());

// Runs it once: rewrites the module into an equivalent one that is smaller and faster.
// Deterministic. Errors: those of Pipeline::run, with which `options` says what to verify, to dump,
// and to leave out.
void optimize(Module& module, const PipelineOptions& options = PipelineOptions::from_environment());

}  // namespace systole::hlo
