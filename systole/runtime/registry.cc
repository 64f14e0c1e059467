#include "systole/runtime/registry.h"

#include <fmt/ranges.h>

#include <map>
#include <mutex>

#include "systole/base/mutex.h"
#include "systole/hlo/passes/pass.h"
#include "systole/stablehlo/text/text.h"

namespace systole::runtime {
namespace {

// A client, made by the first caller while others with the same options wait.
struct SharedClient {
  Mutex making;
  std::unique_ptr<Client> client SYSTOLE_GUARDED_BY(making);
};

struct Entry {
  Backend backend;
  std::map<ClientOptions, SharedClient> clients;  // entries never move
};

struct Registry {
  Mutex mutex;
  std::map<std::string, Entry, std::less<>> entries
      SYSTOLE_GUARDED_BY(mutex);  // entries never move
};

// Never destroyed: a program's objects of static lifetime may hold compiled code, whose memory is
// the client's.
Registry& registry() {
  static Registry& instance = *new Registry();
  return instance;
}

void ensure_registered() {
  static std::once_flag once;
  std::call_once(once, [] {
    hlo::set_module_printer([](const hlo::Module& module) { return hlo::print(module); });
    register_backends();
  });
}

// REQUIRES: the registry's lock.
Entry& find_entry(std::string_view name) SYSTOLE_REQUIRES(registry().mutex) {
  const size_t colon = name.find(':');
  const auto it = registry().entries.find(name.substr(0, colon));
  if (it != registry().entries.end() &&
      (colon == std::string_view::npos || !it->second.backend.address_option.empty())) {
    return it->second;
  }
  std::vector<std::string_view> names;
  for (const auto& [known, entry] : registry().entries) names.push_back(known);
  throw not_found("runtime: backend, got '{}', expected one of {}", name, fmt::join(names, ", "));
}

}  // namespace

void register_backend(Backend backend) {
  const MutexLock lock(registry().mutex);
  const auto [it, inserted] = registry().entries.try_emplace(backend.name);
  if (!inserted)
    throw make_error(Code::already_exists, "register_backend: '{}' is there already", it->first);
  it->second.backend = std::move(backend);
}

Client& client(std::string_view name, const ClientOptions& options) {
  ensure_registered();
  const Entry* entry = nullptr;
  SharedClient* shared = nullptr;
  ClientOptions resolved;
  {
    const MutexLock lock(registry().mutex);
    Entry& found = find_entry(name);
    ClientOptions given = options;
    if (const size_t colon = name.find(':'); colon != std::string_view::npos) {
      given[found.backend.address_option] = std::string(name.substr(colon + 1));
    }
    resolved = resolve_options(found.backend.name, found.backend.options, given);
    shared = &found.clients[resolved];
    entry = &found;
  }
  // Not std::call_once: the thread sanitizer's version of it hangs after an exception.
  const MutexLock lock(shared->making);
  if (shared->client == nullptr) shared->client = entry->backend.make(resolved);
  return *shared->client;
}

std::span<const OptionDef> backend_options(std::string_view name) {
  ensure_registered();
  const MutexLock lock(registry().mutex);
  return find_entry(name).backend.options;
}

std::vector<std::string> backend_names() {
  ensure_registered();
  const MutexLock lock(registry().mutex);
  std::vector<std::string> names;
  for (const auto& [name, entry] : registry().entries) names.push_back(name);
  return names;
}

}  // namespace systole::runtime
