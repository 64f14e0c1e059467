// Kernels of ops that run on the host and need what the graph layer may not know: files, images,
// records. An op without such needs has its kernel in its OpDef.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/graph/api/graph.h"
#include "systole/graph/op_def.h"

namespace systole {

// What a session or a host function keeps for its kernels between runs: tables, iterators. Freed
// with it. Thread-safe; the things kept must be themselves.
class HostResources {
 public:
  // The thing under `key`, which `make` makes when there is none. Two threads that ask at once get
  // the same one. Errors: INTERNAL when it has another type; what `make` throws (nothing is kept).
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

  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

class StringInterning;

// One evaluation of a node. Inputs come from feeds, constants and other steps of the same run.
struct KernelContext {
  const Node& node;
  std::span<const Tensor> inputs;
  const HostEnvironment& environment;
  HostResources& resources;
  StringInterning& strings;

  const Tensor& input(int i) const { return inputs[static_cast<size_t>(i)]; }
  template <class T>
  const T& attr(std::string_view name) const {
    return node.attr<T>(name);
  }
};

// Returns a tensor for each output of the node. Called from several threads at once. Errors get the
// node and its line added.
using HostKernel = std::function<std::vector<Tensor>(KernelContext&)>;

// What each file of session/kernels defines, as `extern const HostKernelDef <file>_kernel` in
// namespace systole::kernels: the build makes the list.
struct HostKernelDef {
  std::string_view op;  // TensorFlow's name
  std::vector<Tensor> (*run)(KernelContext&);
};
std::span<const HostKernelDef* const> all_kernel_defs();

// For layers above, whose kernels session cannot name. Errors: ALREADY_EXISTS. Thread-safe.
void register_host_kernel(std::string op, HostKernel kernel);

// Null when there is none. The result lives until exit. Thread-safe.
const HostKernel* find_host_kernel(std::string_view op);

// The kernel of a node that the host executes: a registered one, that of its OpDef, or the one that
// moves strings. Lives until exit. Thread-safe. REQUIRES: runs_on_host(node), or a registered
// kernel.
const HostKernel* kernel_of(const Node& node);

// True for nodes that the host executes: those with a kernel, and those that only move strings or
// compare them, which no device holds.
bool runs_on_host(const Node& node);
// Of these, the ones without a kernel.
bool moves_strings(const Node& node);

}  // namespace systole
