// The device interface: the layers above reach every device through Client, Executable and Buffer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"
#include "systole/runtime/event.h"
#include "systole/runtime/program_options.h"

namespace systole::runtime {

// One core that runs programs. A plain description, owned by its Client.
struct Device {
  int id = 0;                        // unique among the devices of all processes
  int process_index = 0;             // of the process that can use it
  std::array<int, 3> coordinates{};  // of its chip, in the system's mesh
  int core_on_chip = 0;
  std::string name;          // "cpu:0"
  std::string kind;          // "AMD EPYC, avx512_bf16, 2 cores"
  int64_t memory_bytes = 0;  // what programs may use; 0: no limit of its own
};

// The memory that buffers take on a device.
struct MemoryStats {
  int64_t bytes_in_use = 0;
  int64_t peak_bytes_in_use = 0;
  int64_t bytes_limit = 0;  // 0: none known
};

// An array in device memory. The array may still be computed or transferred when the call that
// returned the buffer has ended: ready() tells. A failure of that work is the buffer's error, which
// everything that reads the buffer reports.
//
// A buffer lives on one device, or on all devices of a program with replicas: a copy on each, or,
// stacked, slice r of the first axis on the device of replica r.
//
// Immutable except for donation (see Argument). Destroying a Buffer frees the memory after the work
// that uses it. Safe to read from any thread between launches that it is donated to.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual const TensorType& type() const = 0;
  // The device, or the first of several.
  virtual int device_id() const = 0;
  // Ready when the array is there, or cannot be. After a donation: the event of that launch.
  virtual Event ready() const { return {}; }
  // Copies the elements to `target`: into its memory when it has this type and nobody shares it,
  // else into a new tensor. `target` must stay in place until the event is ready. Errors of the
  // event: the buffer's error.
  virtual Event copy_to_host(Tensor& target) const = 0;
  // The elements in place, where the host can read the device's memory; null on other devices.
  // REQUIRES: ready() is ready.
  virtual const Tensor* host_value() const { return nullptr; }

  // Waits, and returns a copy. Errors: the buffer's error.
  Tensor to_host() const;
};

// What a program reads: a buffer of its client, or a host tensor, whose elements are read before
// execute() returns. Exactly one of the two is set. Borrowed for the call. A buffer on other
// devices than the program's is copied there.
struct Argument {
  Buffer* buffer = nullptr;
  const Tensor* host = nullptr;
  // The caller gives the buffer's present value up. The buffer holds the result that the program
  // aliases with this parameter afterwards, written in place where the device can; without such a
  // result its value is undefined. A failed launch leaves the buffer with the launch's error.
  bool donate = false;
};

// Where a result goes. With `device` the new buffer is stored there before execute() returns; with
// `host` the elements are, before the launch's event is ready: into the tensor's own memory when it
// has the right type and nobody shares it, else into a new tensor, which must stay in place until
// then. Neither: the value is dropped, or lies in the donated argument.
struct Result {
  std::unique_ptr<Buffer>* device = nullptr;
  Tensor* host = nullptr;
};

// One step of a compiled program, and its cost in one run of the program.
struct StepProfile {
  std::string step;          // "fusion(exponential, reduce) f32[32]", and the node it is from
  bool interpreted = false;  // computed by the op's reference value, without compiled code
  int64_t runs = 0;          // several inside a loop
  double seconds = 0;        // of all runs, without those of the steps inside it
  double flops = 0;          // of all runs, without transcendental functions
  double bytes = 0;          // of all runs: each operand and each result once
};

struct ExecuteOptions {
  // Where a program that was compiled with CompileOptions::profile puts its steps, in program
  // order, before its event is ready; other programs leave it alone.
  std::vector<StepProfile>* profile = nullptr;
  bool notes = true;  // notes steps and ops for a recording in progress, if the program can
};

// Bytes and operations of one replica's run.
struct ExecutableStats {
  int64_t argument_bytes = 0;
  int64_t result_bytes = 0;
  int64_t temp_bytes = 0;
  int64_t code_bytes = 0;
  double flops = 0;             // without transcendental functions (hlo/semantics/cost.h)
  double transcendentals = 0;   // elements of such functions
  int64_t reference_steps = 0;  // see StepProfile::interpreted
  double compile_seconds = 0;
  bool code_cached = false;  // its machine code was in memory or on disk already
  bool notes_steps =
      false;  // launches record their steps (tracing/recording.h); else the caller does
};

// A compiled program of one or more replicas in lockstep. Arrays are whole: a parameter or result
// that differs between replicas has the number of replicas as its first axis, replica 0 first; one
// that is the same on all replicas is there once. (Of a program that spans processes each process
// gives and gets the slices of its own replicas.) Thread-safe: launches may overlap where no
// argument is donated to one and read by another.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual std::span<const TensorType> parameter_types() const = 0;
  virtual std::span<const TensorType> result_types() const = 0;
  virtual const ExecutableStats& stats() const = 0;
  // Launches the program and returns, before it has ended where the device works on its own. Takes
  // one argument a parameter and one result a result. Arguments may be pending: the launch waits
  // for them on the device. Launches of one client take effect in the order of the calls.
  // The caller checked the arguments' types against parameter_types() (a debug build checks again).
  // Steady state allocates nothing for results that need no new memory.
  // Errors, thrown: INVALID_ARGUMENT for another number of arguments or results, for a buffer of
  // another client, and for donated memory that another argument reads. Nothing was launched then.
  // Errors of the event: those of the program and of the buffers that it reads; its results have
  // the same error.
  virtual Event execute(std::span<const Argument> arguments, std::span<const Result> results,
                        const ExecuteOptions& options = {}) = 0;
  // The program after the backend's passes, as text; "" where a backend has none.
  virtual std::string optimized_program() const { return ""; }
  // Bytes of which Client::deserialize() makes the same executable, in another process of the same
  // version. Errors: UNIMPLEMENTED where the backend cannot.
  virtual std::string serialize() const;
};

// Runs `executable` on host tensors and waits for the results. For tools and tests; programs that
// keep values on the device use execute().
std::vector<Tensor> run(Executable& executable, std::span<const Tensor> arguments,
                        const ExecuteOptions& options = {});

class ProcessGroup;  // process_group.h

struct CompileOptions {
  static constexpr int64_t kNoMemoryLimit = INT64_MAX;

  // What callers of the layers above may ask for.
  ProgramOptions program = {};

  // Parameters that affect results.
  int num_replicas = 1;
  // Parts in which each replica's arrays are split, as the module's shardings say.
  int num_partitions = 1;
  // The id of the device of partition p of replica r, at r * num_partitions + p; ids of other
  // processes' devices are allowed. Empty: the devices in order, again from the first where there
  // are fewer.
  std::vector<int> device_assignment = {};
  // By parameter of the program: the caller promises one value for all replicas, and gives it
  // once. Empty: none.
  std::vector<bool> replicated_parameters = {};
  // The processes that run the program together, each with num_replicas replicas of its own. Null
  // means this process alone. With a group, sums over replicas are added in pairs, in the order of
  // ProcessGroup::sum_replicas. Not owned; it must outlive the executable. Only the cpu backend
  // supports it.
  ProcessGroup* processes = nullptr;

  // Parameters that affect speed.
  bool optimize = true;  // false: only what is needed to run (for differential tests)
  int num_threads = 0;   // per replica; 0: the backend's choice
  // Bytes that a replica may use; 0: what its device has.
  int64_t memory_limit = 0;
  // The folder where compiled code is kept for other processes; "": the backend's default (the
  // CPU's: $SYSTOLE_CACHE_DIR, else ~/.cache/systole).
  std::string cache_folder = {};
};

// Where Client::buffer_from_host() puts an array. Spans are borrowed for the call.
struct BufferOptions {
  // Ids of devices: one, or those of a program's replicas. Empty: the first device.
  std::span<const int> device_ids = {};
  // With several devices: slice r of the first axis goes to the r-th of them, instead of a copy of
  // the array to each.
  bool stacked = false;
  // Null: the tensor's memory is read before the call returns. Else it may be read until the event
  // that is stored here is ready, and must not be written before.
  Event* host_memory_free = nullptr;
};

// A backend in use: its devices, its memory, its compiler. Thread-safe.
class Client {
 public:
  virtual ~Client() = default;
  virtual std::string_view platform() const = 0;  // "cpu"
  // Returns the devices of all processes, by id.
  virtual std::span<const Device> devices() const = 0;
  // This process, whose devices run the programs that it launches.
  virtual int process_index() const { return 0; }
  // Errors: INVALID_ARGUMENT for options that do not fit the devices; UNIMPLEMENTED
  // `<platform> cannot lower '<op>' (<type>), from node 'x' at file.cc:41`; RESOURCE_EXHAUSTED when
  // the program needs more memory than a device has.
  virtual std::unique_ptr<Executable> compile(const hlo::Module& module,
                                              const CompileOptions& options = {}) = 0;
  // The executable of which serialize() made `bytes`. Errors: UNIMPLEMENTED where the backend
  // cannot; DATA_LOSS for other bytes.
  virtual std::unique_ptr<Executable> deserialize(std::string_view bytes);
  // Copies `tensor` to the device. Memory that nobody else holds (a moved tensor) is taken over
  // without a copy where the device is this machine. Errors, thrown: INVALID_ARGUMENT for a device
  // that this process does not have; RESOURCE_EXHAUSTED. Later errors are the buffer's.
  virtual std::unique_ptr<Buffer> buffer_from_host(Tensor tensor,
                                                   const BufferOptions& options = {}) = 0;
  // Errors: INVALID_ARGUMENT for a device that this process does not have; UNIMPLEMENTED where the
  // backend cannot tell.
  virtual MemoryStats memory_stats(int device_id) const;
};

}  // namespace systole::runtime
