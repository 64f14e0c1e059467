#include "systole/graph/core/gradient_override.h"

#include "systole/base/mutex.h"
#include "systole/graph/core/op_def.h"

namespace systole {
namespace {

class GradientRegistry {
 public:
  static GradientRegistry& instance() {
    static GradientRegistry registry;
    return registry;
  }

  void add(std::string_view name, RegisteredGradient gradient) {
    const MutexLock lock(mutex_);
    if (gradients_.emplace(name, std::move(gradient)).second) return;
    throw make_error(Code::already_exists, "register_gradient: name, got '{}' a second time", name);
  }

  const RegisteredGradient* find(std::string_view name) {
    const MutexLock lock(mutex_);
    const auto it = gradients_.find(name);
    return it == gradients_.end() ? nullptr : &it->second;
  }

 private:
  Mutex mutex_;
  std::map<std::string, RegisteredGradient, std::less<>> gradients_
      SYSTOLE_GUARDED_BY(mutex_);  // entries never move
};

thread_local const GradientOverrideMap* innermost_map = nullptr;

}  // namespace

void register_gradient(std::string_view name, RegisteredGradient gradient) {
  if (gradient == nullptr) {
    throw invalid_argument("register_gradient: gradient of '{}', got none, expected a function",
                           name);
  }
  GradientRegistry::instance().add(name, std::move(gradient));
}

const RegisteredGradient* find_registered_gradient(std::string_view name) {
  return GradientRegistry::instance().find(name);
}

GradientOverrideMap::GradientOverrideMap(
    std::initializer_list<std::pair<std::string_view, std::string_view>> op_type_map)
    : outer_(innermost_map) {
  for (const auto& [op, name] : op_type_map) {
    find_op_def(op);
    if (find_registered_gradient(name) == nullptr) find_op_def(name);
    names_.emplace(op, name);
  }
  innermost_map = this;
}

GradientOverrideMap::~GradientOverrideMap() { innermost_map = outer_; }

const std::string* GradientOverrideMap::find(std::string_view op_name) {
  for (const GradientOverrideMap* map = innermost_map; map != nullptr; map = map->outer_) {
    const auto it = map->names_.find(op_name);
    if (it != map->names_.end()) return &it->second;
  }
  return nullptr;
}

}  // namespace systole
