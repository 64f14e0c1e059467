// Reports of earlier compilations, by a fingerprint of what was compiled for what by which library.
// Internal to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "systole/tpu_check/compile_report.h"
#include "systole/tpu_check/process.h"

namespace systole::tpu_check {

// Files of the cache folder of compiled code, which counts and empties them (`systole cache`).
class ReportCache {
 public:
  // `file`: what the report calls the program. Not `enabled`, or without a cache folder: finds and
  // keeps nothing.
  ReportCache(const CompilerJob& job, std::string_view file, bool enabled);

  // Nothing for a damaged file.
  std::optional<CompileReport> find() const;
  // Keeps a verdict; crashes and time limits may not come again. Errors are logged.
  void keep(const CompileReport& report) const;

 private:
  std::string path_;
};

}  // namespace systole::tpu_check
