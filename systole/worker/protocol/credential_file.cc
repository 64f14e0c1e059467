#include "systole/worker/protocol/credential_file.h"

#include <cstdint>

#include "systole/base/error.h"
#include "systole/base/file_system.h"
#include "systole/io/local/local_file_system.h"

namespace systole::worker {
namespace {

constexpr uint64_t kMaxCredentialBytes = 1 << 20;

}  // namespace

std::string read_credential_file(const std::string& what, const std::string& path) {
  try {
    return read_file(local_file_system(), path, kMaxCredentialBytes);
  } catch (const Error& error) {
    if (error.code() == Code::not_found) {
      throw not_found("worker: {}, got '{}', which does not exist", what, path);
    }
    throw make_error(error.code(), "worker: {}: {}", what, error.message());
  }
}

std::string read_token_file(const std::string& what, const std::string& path) {
  const std::string text = read_credential_file(what, path);
  std::string token = text.substr(0, text.find('\n'));
  if (token.empty()) throw not_found("worker: {}, got '{}', which has no token", what, path);
  return token;
}

}  // namespace systole::worker
