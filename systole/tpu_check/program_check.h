// What a TPU makes of a StableHLO program, by Systole's own models: what it would refuse, the
// memory and the time of a core. Beside it, where it was asked, what Google's compiler says.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/module.h"
#include "systole/tpu_check/compile.h"
#include "systole/tpu_check/core_estimate.h"
#include "systole/tpu_check/program_findings.h"

namespace systole::tpu_check {

struct ProgramReport {
  // False for a text that is no valid program; `unknown` says why.
  bool is_valid = true;
  std::vector<Finding> findings;
  // Empty where the program has no static shapes or ops that Systole does not know; `unknown` says
  // why.
  std::vector<CoreEstimate> estimates;
  std::string unknown;
  double flops = 0;  // of products and convolutions, loops as often as they run
  std::optional<CompileReport> compiled;

  // Returns whether Google's compiler takes the program; in its absence, whether it is valid and
  // every estimate takes it.
  bool ok() const;
  // What Google's compiler says that the estimates do not.
  std::vector<std::string> differences() const;
  std::string to_string() const;
  nlohmann::json to_json() const;
};

// Returns the bytes of the MLIR module in an artifact of jax.export (`exported.serialize()`);
// `bytes` themselves if they are no such artifact.
std::string_view program_in(std::string_view bytes);

// Checks StableHLO, text or bytecode. `systems` are those to estimate for. Errors: those of reading
// bytecode that is damaged.
ProgramReport check_program(std::string_view program, const std::string& file,
                            const std::vector<std::string>& systems);

// An estimate for a program of static shapes.
CoreEstimate estimate(const hlo::Module& module, const std::string& system);
// The same for what hlo::tpu_program returned.
CoreEstimate estimate_optimized(const hlo::Module& program, const std::string& system);

// What a report of Google's compiler says that an estimate does not.
std::vector<std::string> differences_of(const CoreEstimate& ours, const CompileReport& compiled);

}  // namespace systole::tpu_check
