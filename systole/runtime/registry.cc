#include "systole/runtime/registry.h"

#include <fmt/ranges.h>

#include <map>
#include <mutex>

namespace systole::runtime {
namespace {

struct Entry {
  ClientFactory factory;
  std::unique_ptr<Client> client;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, Entry, std::less<>> entries;
};

// Never destroyed: a program's objects of static lifetime may hold compiled code, whose memory is
// the client's.
Registry& registry() {
  static Registry& instance = *new Registry();
  return instance;
}

void ensure_registered() {
  static std::once_flag once;
  std::call_once(once, register_backends);
}

}  // namespace

void register_backend(std::string name, ClientFactory factory) {
  const std::lock_guard lock(registry().mutex);
  const auto [it, inserted] = registry().entries.try_emplace(std::move(name));
  if (!inserted)
    throw make_error(Code::already_exists, "register_backend: '{}' is there already", it->first);
  it->second.factory = std::move(factory);
}

Client& client(std::string_view name) {
  ensure_registered();
  const std::lock_guard lock(registry().mutex);
  const auto it = registry().entries.find(name);
  if (it == registry().entries.end()) {
    std::vector<std::string_view> names;
    for (const auto& [known, entry] : registry().entries) names.push_back(known);
    throw not_found("runtime: backend, got '{}', expected one of {}", name, fmt::join(names, ", "));
  }
  if (it->second.client == nullptr) it->second.client = it->second.factory();
  return *it->second.client;
}

std::vector<std::string> backend_names() {
  ensure_registered();
  const std::lock_guard lock(registry().mutex);
  std::vector<std::string> names;
  for (const auto& [name, entry] : registry().entries) names.push_back(name);
  return names;
}

}  // namespace systole::runtime
