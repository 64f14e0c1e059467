#include "systole/session/targets/target.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/session/targets/targets.h"

namespace systole {
namespace {

class TargetSchemes {
 public:
  static TargetSchemes& instance() {
    static TargetSchemes schemes;
    return schemes;
  }

  void add(TargetScheme scheme) {
    const MutexLock lock(mutex_);
    if (find(scheme.scheme) != nullptr) {
      throw make_error(Code::already_exists,
                       "register_target_scheme: scheme, got '{}' a second time", scheme.scheme);
    }
    schemes_.push_back(std::make_unique<const TargetScheme>(std::move(scheme)));
  }

  // Null if there is none. Lives until exit.
  const TargetScheme* find_for(std::string_view target) {
    const std::string_view name = target.substr(0, target.find(':'));
    if (name.empty() && !target.empty()) return nullptr;
    const MutexLock lock(mutex_);
    return find(name);
  }

  // In the order of registration. `with_empty`: include the empty target.
  std::string forms(bool with_empty) {
    const MutexLock lock(mutex_);
    std::string text;
    for (const auto& scheme : schemes_) {
      if (scheme->scheme.empty() && !with_empty) continue;
      if (!text.empty()) text += ", ";
      text += scheme->forms;
    }
    return text;
  }

 private:
  TargetSchemes() {
    add(this_machine_scheme());
    add(virtual_tpu_scheme());
    add(worker_scheme());
    add(pjrt_scheme());
  }

  // REQUIRES: the lock.
  const TargetScheme* find(std::string_view name) const SYSTOLE_REQUIRES(mutex_) {
    const auto it =
        std::ranges::find_if(schemes_, [&](const auto& scheme) { return scheme->scheme == name; });
    return it == schemes_.end() ? nullptr : it->get();
  }

  Mutex mutex_;
  std::vector<std::unique_ptr<const TargetScheme>> schemes_ SYSTOLE_GUARDED_BY(mutex_);
};

}  // namespace

void register_target_scheme(TargetScheme scheme) {
  TargetSchemes::instance().add(std::move(scheme));
}

bool has_target_scheme(std::string_view target) {
  return TargetSchemes::instance().find_for(target) != nullptr;
}

std::string target_forms() { return TargetSchemes::instance().forms(/*with_empty=*/false); }

Target resolve_target(std::string_view target, std::string_view backend) {
  const TargetScheme* const scheme = TargetSchemes::instance().find_for(target);
  if (scheme != nullptr) return scheme->resolve(target, backend);
  const size_t port = target.rfind(':');
  const bool address = port != std::string_view::npos && port + 1 < target.size() &&
                       target.find_first_not_of("0123456789", port + 1) == std::string_view::npos;
  if (address) {
    throw invalid_argument("Session: target, got '{0}', expected grpc://{0}: grpc:// is missing",
                           target);
  }
  throw invalid_argument("Session: target, got '{}', expected {}", target,
                         TargetSchemes::instance().forms(/*with_empty=*/true));
}

}  // namespace systole
