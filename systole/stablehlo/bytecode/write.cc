#include "systole/base/error.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/stablehlo/bytecode/program_writer.h"

namespace systole::hlo {

std::string write_bytecode(const Module& module, const WriteBytecodeOptions& options) {
  const bytecode::VhloVersion version = bytecode::parse_vhlo_version(options.version, "bytecode");
  const bool newer = version.major != bytecode::kNewestVhlo.major
                         ? version.major > bytecode::kNewestVhlo.major
                         : version.minor > bytecode::kNewestVhlo.minor;
  if (newer || version < bytecode::kOldestVhlo) {
    throw invalid_argument("bytecode: version of VHLO, got {}, expected {} to {}", options.version,
                           bytecode::kOldestVhlo.to_string(), bytecode::kNewestVhlo.to_string());
  }
  return bytecode::write_program(module, version);
}

}  // namespace systole::hlo
