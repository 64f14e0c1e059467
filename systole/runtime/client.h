// The narrow device interface: everything above it reaches a CPU, a TPU or a GPU through these four
// classes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"

namespace systole::runtime {

// One core that runs programs. A plain description, owned by its Client.
struct Device {
  int id = 0;
  std::string name;          // "cpu:0"
  std::string kind;          // "AMD EPYC, avx512_bf16, 2 cores"
  int64_t memory_bytes = 0;  // what programs may use; 0 when not limited
};

// An array in device memory. Immutable but for donation: an argument that the program aliases with
// a result holds the result after the run. Destroying it frees the memory. Safe to read from any
// thread between runs.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual const TensorType& type() const = 0;
  virtual int device_id() const = 0;
  // A copy in host memory.
  virtual Tensor to_host() const = 0;
};

// What a program reads: a buffer of its device, or a host tensor that the backend copies in (a CPU
// reads it in place). Exactly one of the two is set. Borrowed for the call.
struct Argument {
  Buffer* buffer = nullptr;
  const Tensor* host = nullptr;
};

// Where a result goes. With `device` the new buffer is stored there; with `host` the elements are
// (into the tensor's own memory when it has the right type and nobody shares it, else into a new
// tensor). Neither: the value is dropped, or, for a result aliased with an argument, lies in that
// argument's buffer.
struct Result {
  std::unique_ptr<Buffer>* device = nullptr;
  Tensor* host = nullptr;
};

// One step of a compiled program, and what it took in one run of the program.
struct StepProfile {
  std::string step;           // "fusion(exponential, reduce) f32[32]", and the node it is from
  bool by_reference = false;  // computed by the op's reference value, for want of code of its own
  int64_t runs = 0;           // several inside a loop
  double seconds = 0;         // of all runs, without those of the steps inside it
  double flops = 0;           // of all runs
  double bytes = 0;           // of all runs: each operand and each result once
};

struct ExecuteOptions {
  int first_device = 0;  // replica r runs on device first_device + r
  // Where a program that was compiled with CompileOptions::profile puts its steps, in program
  // order; untouched by others.
  std::vector<StepProfile>* profile = nullptr;
};

// Bytes and operations of one replica's run.
struct ExecutableStats {
  int64_t argument_bytes = 0;
  int64_t result_bytes = 0;
  int64_t temp_bytes = 0;
  int64_t code_bytes = 0;
  double flops = 0;
  int64_t reference_steps = 0;  // see StepProfile::by_reference
  double compile_seconds = 0;
  bool code_cached = false;  // its machine code was there already, in memory or on disk
};

// A compiled program. `execute` may be called from several threads at once (on distinct aliased
// buffers).
class Executable {
 public:
  virtual ~Executable() = default;
  virtual std::span<const TensorType> parameter_types() const = 0;
  virtual std::span<const TensorType> result_types() const = 0;
  virtual const ExecutableStats& stats() const = 0;
  // Runs all replicas in lockstep and returns when results are there. `arguments` and `results` are
  // replica by replica: num_replicas x parameters, num_replicas x results, but for
  // CompileOptions::stacked. Of a replicated parameter those behind the first may be empty.
  // Arguments were checked by the caller against parameter_types() (a debug build checks again).
  // Steady state allocates nothing for results that need no new memory.
  virtual void execute(std::span<const Argument> arguments, std::span<const Result> results,
                       const ExecuteOptions& options = {}) = 0;
  // The program after the backend's passes, as text; "" where a backend has none.
  virtual std::string optimized_program() const { return ""; }
};

struct CompileOptions {
  // Parameters that affect results.
  int num_replicas = 1;
  // By parameter of the program: the caller promises one value for all replicas, and gives it for
  // replica 0 alone. Empty: none.
  std::vector<bool> replicated_parameters;
  // What differs between replicas lies in one array, that of replica 0 first: parameter_types() and
  // result_types() have num_replicas as their first axis there, and execute() takes one argument a
  // parameter and one result a result. What is the same on all replicas is there once. False:
  // replica by replica.
  bool stacked = false;
  bool bf16_products =
      false;  // dot and convolution inputs rounded to bf16, accumulated in f32: a TPU's default

  // Parameters that affect speed.
  bool optimize = true;  // false: only what is needed to run (for differential tests)
  int num_threads = 0;   // per replica; 0: the backend's choice
  bool profile = false;  // take the time of every step: see ExecuteOptions::profile
  // Bytes that a replica may use; 0: what its device has.
  int64_t memory_limit = 0;
  // Where compiled code is kept for other processes; "": where the backend's environment says (the
  // CPU's: $SYSTOLE_CACHE_DIR), nowhere when it says nothing.
  std::string cache_folder;
};

// A backend in use: its devices, its memory, its compiler. Thread-safe.
class Client {
 public:
  virtual ~Client() = default;
  virtual std::string_view platform() const = 0;  // "cpu"
  virtual std::span<const Device> devices() const = 0;
  // Errors: UNIMPLEMENTED `<platform> cannot lower '<op>' (<type>), from node 'x' at file.cc:41`;
  // RESOURCE_EXHAUSTED when the program needs more memory than the device has.
  virtual std::unique_ptr<Executable> compile(const hlo::Module& module,
                                              const CompileOptions& options = {}) = 0;
  // Copies `tensor` to a device.
  virtual std::unique_ptr<Buffer> buffer_from_host(const Tensor& tensor, int device_id = 0) = 0;
};

}  // namespace systole::runtime
