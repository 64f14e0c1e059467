#include "systole/tpu_check/compile.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <optional>

#include "systole/base/error.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/stablehlo/text/text.h"
#include "systole/tpu_check/find_libtpu.h"
#include "systole/tpu_check/hlo_dump.h"
#include "systole/tpu_check/process.h"
#include "systole/tpu_check/report_cache.h"
#include "systole/tpu_check/target.h"

namespace systole::tpu_check {
namespace {

constexpr size_t kShown = 10;

// "mhlo.num_replicas = 8 : i32"; nullopt without it.
std::optional<int> number_after(std::string_view text, std::string_view name) {
  const size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + name.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" ="), rest.size()));
  int value = 0;
  const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  return failed == std::errc() && value > 0 ? std::optional(value) : std::nullopt;
}

// Sets what the options leave open from the program's module.
void set_devices(std::string_view program, CompileOptions& options) {
  if (options.replicas > 0 && options.partitions > 0) return;
  std::string text;
  if (hlo::is_bytecode(program)) {
    text = hlo::bytecode_to_text(program);
    program = text;
  }
  if (options.replicas <= 0)
    options.replicas = number_after(program, "mhlo.num_replicas").value_or(1);
  if (options.partitions <= 0)
    options.partitions = number_after(program, "mhlo.num_partitions").value_or(1);
}

// Whether the program adds up values of several cores.
bool has_sums(const hlo::Module& module) {
  return std::ranges::any_of(module.functions(), [](const auto& function) {
    return std::ranges::any_of(function->instructions(), [](const hlo::Instruction* x) {
      return x->is(hlo::Opcode::all_reduce);
    });
  });
}

int64_t bytes_in(const CompilerOutcome& outcome, const std::string& name) {
  const auto found = outcome.values.find(name);
  return found == outcome.values.end() ? 0 : std::strtoll(found->second.c_str(), nullptr, 10);
}

std::string text_in(const std::map<std::string, std::string>& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? "" : found->second;
}

std::string last_lines(std::string_view log) {
  while (!log.empty() && log.back() == '\n') log.remove_suffix(1);
  constexpr size_t kMax = 600;
  return std::string(log.size() > kMax ? log.substr(log.size() - kMax) : log);
}

// Without its folder.
std::string_view file_of(std::string_view program) {
  return program.substr(program.rfind('/') + 1);
}

// The compiler's words in one line, with the program's file where it says "-".
std::string words_of(std::string_view message, std::string_view program) {
  const std::string_view file = file_of(program);
  std::string text;
  for (size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    const bool space = c == ' ' || c == '\n' || c == '\t';
    if (space && (text.empty() || text.back() == ' ')) continue;
    const bool place = c == '-' && (text.empty() || text.back() == ' ') && i + 1 < message.size() &&
                       message[i + 1] == ':';
    if (place) {
      text += file;
    } else {
      text += space ? ' ' : c;
    }
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// Reads what the compiler planned and timed.
void read_dumps(const CompilerOutcome& outcome, std::string_view program, CompileReport& report) {
  std::string text = text_in(outcome.files, "after_codegen.txt");
  if (text.empty()) text = text_in(outcome.files, "after_optimizations.txt");
  const HloDump dump = read_hlo_dump(text);
  report.cycles = dump.cycles;
  report.has_unknown_loops = dump.has_unknown_loops;
  for (size_t i = 0; i < dump.timed.size() && i < kShown; ++i) {
    const DumpedOp& op = dump.timed[i];
    report.longest.push_back({.op = op.name,
                              .kind = op.opcode,
                              .type = op.type,
                              .source = op.source.to_string(program),
                              .cycles = op.times * op.cycles,
                              .times = op.times});
  }
  const auto live = read_live_arrays(text_in(outcome.files, "live-range.txt"));
  for (size_t i = 0; i < live.size() && i < kShown; ++i) {
    CompiledArray array{.op = live[i].op, .bytes = live[i].bytes};
    if (const auto op = dump.ops.find(live[i].op); op != dump.ops.end()) {
      array.type = op->second.type;
      array.source = op->second.source.to_string(program);
    }
    report.largest.push_back(std::move(array));
  }
  if (report.verdict == Verdict::too_big)
    report.total = read_total_bytes(text_in(outcome.files, "memory-usage-report.txt"));
}

// The stages before the compiler sees the program: what fails there is no verdict.
void check_stage(const CompilerOutcome& outcome, const LibTpu& library, const Target& target) {
  const std::string stage = text_in(outcome.values, "stage");
  const std::string message = text_in(outcome.values, "message");
  if (message.empty()) return;
  if (stage == "loading") {
    throw failed_precondition(
        "libtpu: '{}': {}; expected libtpu.so for x86-64, as `{}` installs it", library.path,
        message, libtpu_install_command());
  }
  if (stage == "topology") {
    throw invalid_argument("libtpu: topology '{}' of {}, refused: {}", target.topology,
                           target.system, message);
  }
}

void read_answer(const CompilerOutcome& outcome, CompileReport& report) {
  const std::string code = text_in(outcome.values, "code");
  report.message = text_in(outcome.values, "message");
  report.limit = bytes_in(outcome, "limit");
  if (!code.empty()) {
    report.verdict = code == std::to_string(static_cast<int>(Code::resource_exhausted))
                         ? Verdict::too_big
                         : Verdict::refused;
    return;
  }
  report.arguments = bytes_in(outcome, "arguments");
  report.results = bytes_in(outcome, "results");
  report.aliased = bytes_in(outcome, "aliased");
  report.temporaries = bytes_in(outcome, "temporaries");
  report.code = bytes_in(outcome, "code_bytes");
  report.total = bytes_in(outcome, "total");
  report.flops = std::strtod(text_in(outcome.values, "flops").c_str(), nullptr);
}

void read_outcome(const CompilerOutcome& outcome, const CompileOptions& options,
                  CompileReport& report) {
  switch (outcome.end) {
    case CompilerEnd::answered:
      return read_answer(outcome, report);
    case CompilerEnd::crashed:
      report.verdict = Verdict::crashed;
      report.message = fmt::format("its process {} while {}", outcome.how, outcome.stage);
      if (const std::string log = last_lines(outcome.log); !log.empty())
        report.message += ": " + log;
      return;
    case CompilerEnd::out_of_time:
      report.verdict = Verdict::out_of_time;
      report.message = fmt::format("no end after {} s of {}", options.max_seconds, outcome.stage);
      return;
    case CompilerEnd::interrupted:
      throw make_error(Code::cancelled, "libtpu: compilation for {}, got a signal that ended it",
                       options.system);
  }
}

// A crash of a file that is no libtpu, while it is loaded, is an error.
void check_loaded(const CompilerOutcome& outcome, const LibTpu& library) {
  if (outcome.end != CompilerEnd::crashed || outcome.stage == "compiling" ||
      outcome.stage == "reading")
    return;
  throw failed_precondition("libtpu: '{}': its process {} while {}{}{}", library.path, outcome.how,
                            outcome.stage.empty() ? "loading" : outcome.stage,
                            outcome.log.empty() ? "" : ": ", last_lines(outcome.log));
}

void save(const CompilerOutcome& outcome, const CompileOptions& options, CompileReport& report) {
  const std::string bytes = text_in(outcome.values, "executable");
  if (options.save.empty() || bytes.empty()) return;
  write_file_atomically(default_file_system(), options.save, bytes);
  report.saved = options.save;
}

// Before the compiler has worked for minutes.
void check_can_save(const std::string& path) {
  if (path.empty()) return;
  const std::string folder = parent_path(path);
  if (folder.empty() || default_file_system().exists(folder) || path.find("://") != path.npos)
    return;
  throw not_found("save: '{}', got no folder '{}', expected one that is there", path, folder);
}

}  // namespace

CompileReport compile(std::string_view program, std::string_view name,
                      const CompileOptions& given) {
  CompileOptions options = given;
  const Target target = target_of(options.system);
  const LibTpu library = find_libtpu(options.library);
  check_can_save(options.save);
  set_devices(program, options);
  CompilerJob job{.library = library.path,
                  .system = target.system,
                  .topology = target.topology,
                  .chip_config = target.chip_config,
                  .program = std::string(program),
                  .replicas = options.replicas,
                  .partitions = options.partitions,
                  .low_effort = options.low_effort,
                  .serialize = !options.save.empty()};
  ReportCache cache(job, file_of(name), options.use_cache && options.save.empty());
  if (auto kept = cache.find()) return *std::move(kept);
  const auto start = std::chrono::steady_clock::now();
  const CompilerOutcome outcome = run_compiler(job, options.max_seconds, options.progress);
  check_loaded(outcome, library);
  check_stage(outcome, library, target);
  CompileReport report{.system = target.system,
                       .version = library.version,
                       .clock_hz = target.clock_hz,
                       .replicas = options.replicas,
                       .partitions = options.partitions,
                       .low_effort = options.low_effort};
  read_outcome(outcome, options, report);
  report.message = words_of(report.message, name);
  read_dumps(outcome, name, report);
  report.compile_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  save(outcome, options, report);
  cache.keep(report);
  return report;
}

CompileReport compile_step(const hlo::Module& module, const CompileOptions& given) {
  CompileOptions options = given;
  options.replicas = has_sums(module) ? target_of(options.system).devices : 1;
  options.partitions = 1;
  return compile(module, options);
}

CompileReport compile(const hlo::Module& module, const CompileOptions& options) {
  // Bytecode of an old version, which every libtpu reads; text where the program needs a newer one.
  constexpr const char* kOldVersion = "1.8.0";
  std::string program;
  try {
    program = hlo::write_bytecode(module, {.version = kOldVersion});
  } catch (const Error&) {
    program = hlo::print(module, {.locations = true});
  }
  return compile(program, module.name(), options);
}

}  // namespace systole::tpu_check
