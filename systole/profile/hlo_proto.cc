#include "systole/profile/hlo_proto.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "systole/base/text.h"

namespace systole::profile {
namespace {

using tracing::Allocation;

constexpr const char* kComputation = "main";

// Messages hold UTF-8 alone; names of a program may be anything.
std::string valid_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    valid += length == 0 ? std::string_view("\uFFFD") : text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return valid;
}

bool in_arena(const Allocation& a) { return a.kind == "temporary"; }

void set_shape(xla::ShapeProto& shape, const TensorType& type) {
  std::string name(to_string(type.dtype));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  xla::PrimitiveType element_type = xla::PRIMITIVE_TYPE_INVALID;
  if (!xla::PrimitiveType_Parse(name, &element_type)) element_type = xla::U8;
  shape.set_element_type(element_type);
  for (int d = 0; d < type.shape.rank(); ++d) {
    shape.add_dimensions(type.shape[d]);
    shape.mutable_layout()->add_minor_to_major(type.shape.rank() - 1 - d);
  }
}

void set_instruction(xla::HloInstructionProto& instruction, const Allocation& a, int64_t id) {
  instruction.set_id(id);
  instruction.set_name(valid_utf8(a.name));
  instruction.set_opcode("custom-call");
  instruction.set_custom_call_target(valid_utf8(a.name.substr(0, a.name.rfind('.'))));
  set_shape(*instruction.mutable_shape(), a.type);
  xla::OpMetadata& metadata = *instruction.mutable_metadata();
  metadata.set_op_name(valid_utf8(a.scope));
  const size_t colon = a.source.rfind(':');
  metadata.set_source_file(valid_utf8(a.source.substr(0, colon)));
  if (colon != std::string::npos) metadata.set_source_line(std::atoi(a.source.c_str() + colon + 1));
}

// Returns the index of the temporaries' allocation.
int64_t add_allocations(xla::BufferAssignmentProto& assignment, const tracing::Program& program) {
  std::map<std::pair<std::string, int>, xla::BufferAllocationProto*> by_memory;
  int64_t temporaries = 0;
  for (size_t i = 0; i < program.allocations.size(); ++i) {
    const Allocation& a = program.allocations[i];
    xla::BufferAllocationProto*& allocation = by_memory[{a.kind, in_arena(a) ? 0 : a.index}];
    if (allocation == nullptr) {
      allocation = assignment.add_buffer_allocations();
      allocation->set_index(assignment.buffer_allocations_size() - 1);
      allocation->set_size(in_arena(a) ? program.temp_bytes : a.bytes);
      allocation->set_is_entry_computation_parameter(a.kind == "argument");
      if (a.kind == "argument") allocation->set_parameter_number(a.index);
      allocation->set_is_constant(a.kind == "constant");
      allocation->set_maybe_live_out(a.kind == "result");
    }
    if (in_arena(a)) temporaries = allocation->index();
    xla::BufferAllocationProto::Assigned& assigned = *allocation->add_assigned();
    assigned.set_logical_buffer_id(static_cast<int64_t>(i));
    assigned.set_offset(a.offset);
    assigned.set_size(a.bytes);
  }
  return temporaries;
}

// When temporaries begin and end, in program order.
void add_events(xla::HeapSimulatorTrace& trace, const tracing::Program& program) {
  struct Change {
    int position;
    bool frees;
    size_t buffer;
  };
  std::vector<Change> changes;
  for (size_t i = 0; i < program.allocations.size(); ++i) {
    const Allocation& a = program.allocations[i];
    if (!in_arena(a)) continue;
    changes.push_back({a.first, false, i});
    changes.push_back({a.last, true, i});
  }
  std::ranges::stable_sort(changes, [](const Change& a, const Change& b) {
    return std::pair(a.position, a.frees) < std::pair(b.position, b.frees);
  });
  for (const Change& change : changes) {
    xla::HeapSimulatorTrace::Event& event = *trace.add_events();
    event.set_kind(change.frees ? xla::HeapSimulatorTrace::Event::FREE
                                : xla::HeapSimulatorTrace::Event::ALLOC);
    event.set_buffer_id(static_cast<int64_t>(change.buffer));
    event.set_computation_name(kComputation);
    event.set_instruction_name(valid_utf8(program.allocations[change.buffer].name));
  }
}

}  // namespace

xla::HloProto hlo_proto_of(const tracing::Program& program) {
  xla::HloProto proto;
  xla::HloModuleProto& module = *proto.mutable_hlo_module();
  module.set_name(valid_utf8(program.name));
  module.set_id(program.id);
  module.set_entry_computation_name(kComputation);
  xla::HloComputationProto& computation = *module.add_computations();
  computation.set_name(kComputation);
  xla::BufferAssignmentProto& assignment = *proto.mutable_buffer_assignment();
  for (size_t i = 0; i < program.allocations.size(); ++i) {
    const Allocation& a = program.allocations[i];
    const auto id = static_cast<int64_t>(i);
    set_instruction(*computation.add_instructions(), a, id);
    computation.set_root_id(id);
    xla::LogicalBufferProto& buffer = *assignment.add_logical_buffers();
    buffer.set_id(id);
    buffer.set_size(a.bytes);
    buffer.mutable_defined_at()->set_instruction_name(valid_utf8(a.name));
    buffer.mutable_defined_at()->set_instruction_id(id);
  }
  if (computation.instructions_size() > 0) {
    xla::ProgramShapeProto& shape = *computation.mutable_program_shape();
    *shape.mutable_result() = computation.instructions().rbegin()->shape();
    *module.mutable_host_program_shape() = shape;
  }
  const int64_t temporaries = add_allocations(assignment, program);
  xla::HeapSimulatorTrace& trace = *assignment.add_heap_simulator_traces();
  trace.set_buffer_allocation_index(temporaries);
  add_events(trace, program);
  return proto;
}

}  // namespace systole::profile
