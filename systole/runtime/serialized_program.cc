#include "systole/runtime/serialized_program.h"

#include <algorithm>
#include <functional>
#include <sstream>

#include "systole/base/error.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/runtime/process_group.h"
#include "systole/stablehlo/text/text.h"

namespace systole::runtime {
namespace {

constexpr std::string_view kProgram = "systole-program-1";
constexpr size_t kDigestDigits = 16;

std::string digest_of(std::string_view body) {
  return fmt::format("{:016x}", std::hash<std::string_view>{}(body));
}

// One line. Flags begin with '-', so that none is a word, too.
std::string options_text(const CompileOptions& options) {
  std::string text = fmt::format("{} {} {} {} {:d} {} -", options.num_replicas,
                                 options.num_partitions, options.memory_limit, options.num_threads,
                                 options.optimize, to_text(options.program));
  for (const bool replicated : options.replicated_parameters) text += replicated ? '1' : '0';
  for (const int id : options.device_assignment) text += fmt::format(" {}", id);
  return text;
}

CompileOptions read_options(std::string_view reader, std::string_view line) {
  std::istringstream words{std::string(line)};
  std::string program;
  std::string flags;
  CompileOptions options;
  words >> options.num_replicas >> options.num_partitions >> options.memory_limit >>
      options.num_threads >> options.optimize >> program >> flags;
  bool complete = words && flags.starts_with('-');
  try {
    options.program = program_options_of(program);
  } catch (const Error&) {
    complete = false;
  }
  for (int id = 0; complete && words >> id;) options.device_assignment.push_back(id);
  if (!complete || !words.eof()) {
    throw make_error(Code::data_loss,
                     "{}: compiled program, got options '{}', expected those of {}", reader, line,
                     kProgram);
  }
  for (const char flag : flags.substr(1)) options.replicated_parameters.push_back(flag == '1');
  return options;
}

}  // namespace

std::string seal(std::string_view kind, std::string_view body) {
  std::string bytes;
  bytes.reserve(kind.size() + kDigestDigits + 2 + body.size());
  bytes.append(kind).append(" ").append(digest_of(body)).append("\n").append(body);
  return bytes;
}

std::string_view open_sealed(std::string_view reader, std::string_view kind,
                             std::string_view bytes) {
  const size_t begin = kind.size() + 1 + kDigestDigits + 1;
  if (bytes.size() < begin || !bytes.starts_with(kind) || bytes[kind.size()] != ' ' ||
      bytes[begin - 1] != '\n') {
    throw make_error(Code::data_loss,
                     "{}: compiled program, got {} bytes of something else, expected '{}' first",
                     reader, bytes.size(), kind);
  }
  const std::string_view body = bytes.substr(begin);
  if (const std::string digest = digest_of(body);
      digest != bytes.substr(kind.size() + 1, kDigestDigits)) {
    throw make_error(Code::data_loss,
                     "{}: compiled program, got {} bytes with digest {}, expected the digest in "
                     "front of them: they were cut off or altered",
                     reader, body.size(), digest);
  }
  return body;
}

std::string write_program(std::string_view writer, const hlo::Module& module,
                          const CompileOptions& options) {
  if (options.processes != nullptr && options.processes->size() > 1) {
    throw unimplemented("{}: compiled program of {} processes, expected one of 1 to write", writer,
                        options.processes->size());
  }
  return seal(kProgram, fmt::format("{}\n{}", options_text(options),
                                    hlo::print(module, {.locations = true})));
}

ProgramSource read_program(std::string_view reader, std::string_view bytes) {
  const std::string_view body = open_sealed(reader, kProgram, bytes);
  const size_t end = std::min(body.find('\n'), body.size());
  ProgramSource source{.module = nullptr, .options = read_options(reader, body.substr(0, end))};
  if (end == body.size()) {
    throw make_error(Code::data_loss, "{}: compiled program, got none after its options", reader);
  }
  try {
    source.module = hlo::parse(body.substr(end + 1), "compiled program");
    hlo::verify(*source.module);
  } catch (const Error& error) {
    throw make_error(Code::data_loss, "{}: {}", reader, error.message());
  }
  return source;
}

}  // namespace systole::runtime
