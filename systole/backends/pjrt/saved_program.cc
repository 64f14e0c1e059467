#include "systole/backends/pjrt/saved_program.h"

#include <charconv>

#include "systole/base/error.h"
#include "systole/runtime/serialized_program.h"

namespace systole::pjrt {
namespace {

constexpr std::string_view kKind = "systole-pjrt-client-1";

// "tpu, TPU v4 (version of the plugin, PJRT 0.112)"
std::string target_of(const Session& session) {
  return fmt::format("{}, {}", session.platform, session.devices.front().kind);
}

// A part is its size, a space and its bytes.
void append_part(std::string& body, std::string_view part) {
  body += fmt::format("{} ", part.size());
  body += part;
}

std::string_view take_part(std::string_view platform, std::string_view& body) {
  size_t size = 0;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), size);
  const auto begin = static_cast<size_t>(end - body.data()) + 1;
  if (error != std::errc() || begin > body.size() || size > body.size() - begin) {
    throw make_error(Code::data_loss,
                     "{}: compiled program, got {} bytes without the size of what they are, "
                     "expected those of {}",
                     platform, body.size(), kKind);
  }
  const std::string_view part = body.substr(begin, size);
  body.remove_prefix(begin + size);
  return part;
}

}  // namespace

std::string save_program(const Session& session, const Interface& interface,
                         std::string_view code) {
  std::string body;
  append_part(body, target_of(session));
  append_part(body, to_text(interface));
  append_part(body, code);
  return runtime::seal(kKind, body);
}

SavedProgram read_program(const Session& session, std::string_view bytes) {
  const std::string_view platform = session.platform;
  std::string_view body = runtime::open_sealed(platform, kKind, bytes);
  const std::string_view target = take_part(platform, body);
  if (target != target_of(session)) {
    throw make_error(Code::data_loss, "{}: compiled program, got one for '{}', expected '{}'",
                     platform, target, target_of(session));
  }
  SavedProgram program{.interface = parse_interface(platform, take_part(platform, body)),
                       .code = take_part(platform, body)};
  for (const int id : *program.interface.device_ids) session.device(id);
  return program;
}

}  // namespace systole::pjrt
