#include "systole/session/host/host_kernel.h"

#include <algorithm>
#include <utility>

#include "systole/base/mutex.h"
#include "systole/session/host/string_interning.h"

namespace systole {
namespace {

class KernelRegistry {
 public:
  static KernelRegistry& instance() {
    static KernelRegistry registry;
    return registry;
  }

  void add(std::string op, HostKernel kernel) {
    const MutexLock lock(mutex_);
    const auto [it, inserted] = kernels_.emplace(std::move(op), std::move(kernel));
    if (!inserted) {
      throw make_error(Code::already_exists, "register_host_kernel: op, got '{}' a second time",
                       it->first);
    }
  }

  const HostKernel* find(std::string_view op) {
    const MutexLock lock(mutex_);
    const auto it = kernels_.find(op);
    return it == kernels_.end() ? nullptr : &it->second;
  }

  // Wraps OpDef::host.
  const HostKernel* own_kernel(const OpDef& def) {
    const MutexLock lock(mutex_);
    HostKernel& kernel = own_[&def];
    if (!kernel) {
      kernel = [host = def.host](KernelContext& c) {
        HostContext context{c.node, c.inputs, c.environment};
        return host(context);
      };
    }
    return &kernel;
  }

 private:
  KernelRegistry() {
    for (const HostKernelDef* def : all_kernel_defs()) {
      kernels_.emplace(std::string(def->op), def->run);
    }
  }

  Mutex mutex_;
  std::map<std::string, HostKernel, std::less<>> kernels_
      SYSTOLE_GUARDED_BY(mutex_);                                      // entries never move
  std::map<const OpDef*, HostKernel> own_ SYSTOLE_GUARDED_BY(mutex_);  // entries never move
};

bool is_string(const TensorType& type) { return type.dtype == DType::string; }

}  // namespace

HostResources::Entry HostResources::find_or_make(const std::string& key,
                                                 const std::function<Entry()>& make) {
  const MutexLock lock(mutex_);
  const auto it = entries_.find(key);
  if (it != entries_.end()) return it->second;
  return entries_.emplace(key, make()).first->second;
}

void HostResources::throw_type(const std::string& key) {
  throw internal_error("HostResources: '{}', got a thing of another type", key);
}

void register_host_kernel(std::string op, HostKernel kernel) {
  KernelRegistry::instance().add(std::move(op), std::move(kernel));
}

const HostKernel* find_host_kernel(std::string_view op) {
  return KernelRegistry::instance().find(op);
}

const HostKernel* kernel_of(const Node& node) {
  if (const HostKernel* registered = find_host_kernel(node.op_name())) return registered;
  if (node.op().host != nullptr) return KernelRegistry::instance().own_kernel(node.op());
  static const HostKernel move = [](KernelContext& c) { return c.strings.run(c.node, c.inputs); };
  return &move;
}

bool moves_strings(const Node& node) {
  if (node.op().host != nullptr || node.op().lower == nullptr || node.op_name() == "Const") {
    return false;
  }
  const auto string_input = [](const Output& input) { return is_string(input.type()); };
  return std::ranges::any_of(node.output_types(), is_string) ||
         std::ranges::any_of(node.inputs(), string_input);
}

bool runs_on_host(const Node& node) { return node.op().host != nullptr || moves_strings(node); }

}  // namespace systole
