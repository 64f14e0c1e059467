// Kernels of ops that run on the host. An op that needs files, images or records has its kernel
// here, since the graph layer cannot use them; any other has it in its OpDef.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/mutex.h"
#include "systole/base/tensor.h"
#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_def.h"

namespace systole {

// Objects that kernels of a session or a host function keep between runs: tables, iterators.
// Destroyed with it. Thread-safe; the objects must be thread-safe themselves.
class HostResources {
 public:
  // Returns the object under `key`; makes it with `make` if there is none. Concurrent calls get the
  // same object. Errors: INTERNAL for an object of another type; those of `make` (nothing is kept).
  template <class T>
  std::shared_ptr<T> get(const std::string& key, const std::function<std::shared_ptr<T>()>& make) {
    const auto untyped = find_or_make(key, [&] { return Entry{make(), type_tag<T>()}; });
    if (untyped.type != type_tag<T>()) throw_type(key);
    return std::static_pointer_cast<T>(untyped.value);
  }

 private:
  struct Entry {
    std::shared_ptr<void> value;
    const void* type = nullptr;
  };
  template <class T>
  static const void* type_tag() {
    static const char tag = 0;
    return &tag;
  }
  Entry find_or_make(const std::string& key, const std::function<Entry()>& make);
  [[noreturn]] static void throw_type(const std::string& key);

  Mutex mutex_;
  std::map<std::string, Entry> entries_ SYSTOLE_GUARDED_BY(mutex_);
};

class StringInterning;

// One evaluation of a node. Inputs come from feeds, constants and other steps of the same run.
struct KernelContext {
  const Node& node;
  std::span<const Tensor> inputs;
  const HostEnvironment& environment;
  HostResources& resources;
  StringInterning& strings;

  const Tensor& input(int i) const { return inputs[i]; }
  template <class T>
  const T& attr(std::string_view name) const {
    return node.attr<T>(name);
  }
};

// Returns a tensor for each output of the node. May be called from several threads at once. The
// executor adds the node and its source line to errors.
using HostKernel = std::function<std::vector<Tensor>(KernelContext&)>;

// Each file of session/kernels defines `extern const HostKernelDef <file>_kernel` in namespace
// systole::kernels; the build collects them.
struct HostKernelDef {
  std::string_view op;  // TensorFlow's name
  std::vector<Tensor> (*run)(KernelContext&);
};
std::span<const HostKernelDef* const> all_kernel_defs();

// Registers a kernel of a layer above. Errors: ALREADY_EXISTS. Thread-safe.
void register_host_kernel(std::string op, HostKernel kernel);

// Returns the kernel of an op that has one here, else null. Lives until exit. Thread-safe.
const HostKernel* find_host_kernel(std::string_view op);

// The kernel of a node that the host executes: a registered one, that of its OpDef, or the one that
// moves strings. Lives until exit. Thread-safe. REQUIRES: runs_on_host(node), or a registered
// kernel.
const HostKernel* kernel_of(const Node& node);

// Whether the host executes the node: it has a kernel, or moves or compares strings, which devices
// cannot hold.
bool runs_on_host(const Node& node);
// Whether the node moves or compares strings and has no kernel.
bool moves_strings(const Node& node);

}  // namespace systole
