#include "systole/tpu_check/report_cache.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/io/file_systems/cache_folder.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/wire/crypto.h"

namespace systole::tpu_check {
namespace {

// Raised when reports change.
constexpr int kFormat = 1;

// The library by its place, size and time: it has half a gigabyte.
std::string fingerprint(const CompilerJob& job, std::string_view file) {
  std::error_code failed;
  const std::filesystem::path library = job.library;
  const auto size = std::filesystem::file_size(library, failed);
  const auto time = std::filesystem::last_write_time(library, failed).time_since_epoch().count();
  const std::string text = fmt::format("{} {} {} {} {} {} {} {} {} {} ", kFormat,
                                       std::filesystem::absolute(library, failed).string(), size,
                                       time, job.topology + job.chip_config, job.replicas,
                                       job.partitions, job.low_effort, file, job.program.size());
  return crypto::hex_text(crypto::sha256(text + job.program));
}

}  // namespace

ReportCache::ReportCache(const CompilerJob& job, std::string_view file, bool enabled) {
  const std::string folder = enabled ? default_cache_folder() : "";
  if (folder.empty()) return;
  try {
    if (!make_private_folder(folder).empty()) return;
  } catch (const Error&) {
    return;
  }
  path_ = join_path(folder, cache_entry_name(fingerprint(job, file)));
}

std::optional<CompileReport> ReportCache::find() const {
  try {
    if (path_.empty() || !local_file_system().exists(path_)) return std::nullopt;
    CompileReport report = report_of(nlohmann::json::parse(read_file(local_file_system(), path_)));
    report.cached = true;
    local_file_system().touch(path_);
    return report;
  } catch (const std::exception& error) {
    log_debug("libtpu: report '{}': {}", path_, error.what());
    return std::nullopt;
  }
}

void ReportCache::keep(const CompileReport& report) const {
  if (path_.empty() || report.verdict == Verdict::crashed || report.verdict == Verdict::out_of_time)
    return;
  try {
    write_file_atomically(
        local_file_system(), path_,
        report.to_json().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } catch (const Error& error) {
    log_warning("libtpu: report is not kept: {}", error.what());
  }
}

}  // namespace systole::tpu_check
