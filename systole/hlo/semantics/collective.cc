#include "systole/hlo/semantics/collective.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "systole/hlo/ir/signature.h"
#include "systole/hlo/semantics/index.h"
#include "systole/hlo/semantics/lifted_region.h"

namespace systole::hlo {
namespace {

int64_t count_ids(const ProcessGrid& grid, Grouping grouping) {
  if (grouping == Grouping::flattened_ids) return grid.size();
  return grouping == Grouping::cross_partition ? grid.num_partitions : grid.num_replicas;
}

int64_t own_id(const Process& process, Grouping grouping) {
  if (grouping == Grouping::flattened_ids) return process.number();
  return grouping == Grouping::cross_partition ? process.partition_id() : process.replica_id();
}

// Returns the rows of replica_groups without padding; all ids in one row if it is empty.
std::vector<std::vector<int64_t>> id_groups(const Tensor& replica_groups, int64_t num_ids) {
  std::vector<std::vector<int64_t>> rows;
  if (replica_groups.num_elements() == 0) {
    rows.emplace_back(static_cast<size_t>(num_ids));
    std::iota(rows[0].begin(), rows[0].end(), 0);
    return rows;
  }
  for (int64_t i = 0; i < replica_groups.dim(0); ++i) {
    const Tensor row = replica_groups.slice(i, i + 1);
    rows.emplace_back(row.data<int64_t>().begin(), row.data<int64_t>().end());
    std::erase(rows.back(), -1);
  }
  return rows;
}

// Returns the processes that the ids of the row around `process` stand for.
std::vector<int64_t> processes_of(const std::vector<int64_t>& row, const Process& process,
                                  Grouping grouping) {
  if (grouping == Grouping::flattened_ids) return row;
  const int64_t num_partitions = process.grid().num_partitions;
  std::vector<int64_t> numbers;
  const auto add = [&](int64_t replica, int64_t partition) {
    numbers.push_back(replica * num_partitions + partition);
  };
  if (grouping == Grouping::cross_replica_and_partition) {
    for (int64_t partition = 0; partition < num_partitions; ++partition) {
      for (const int64_t id : row) add(id, partition);
    }
  } else if (grouping == Grouping::cross_partition) {
    for (const int64_t id : row) add(process.replica_id(), id);
  } else {
    for (const int64_t id : row) add(id, process.partition_id());
  }
  return numbers;
}

}  // namespace

void check_groups(Opcode opcode, const CollectiveAttrs& attrs, Groups groups) {
  const Tensor& ids = attrs.replica_groups;
  if (ids.dtype() != DType::s64 || ids.rank() != 2) {
    throw invalid_argument("{}: replica_groups, got {}, expected s64 of rank 2", opcode,
                           ids.type());
  }
  std::set<int64_t> seen;
  for (const int64_t id : ids.data<int64_t>()) {
    const bool filler = id == -1 && groups != Groups::every_equal;
    if (!filler && (id < 0 || !seen.insert(id).second)) {
      throw invalid_argument("{}: replica_groups, got id {}, expected each one once, from 0 on",
                             opcode, id);
    }
  }
  const auto count = static_cast<int64_t>(seen.size());
  if (groups != Groups::some && count > 0 && *seen.rbegin() != count - 1) {
    throw invalid_argument("{}: replica_groups, got {} ids up to {}, expected all from 0 on",
                           opcode, count, *seen.rbegin());
  }
  if (attrs.use_global_device_ids && ids.num_elements() == 0) {
    throw invalid_argument(
        "{}: replica_groups, got no ids with use_global_device_ids, expected all from 0 on",
        opcode);
  }
  if (attrs.use_global_device_ids && attrs.channel_handle.handle <= 0) {
    throw invalid_argument(
        "{}: channel_handle, got handle {} with use_global_device_ids, expected a positive one",
        opcode, attrs.channel_handle.handle);
  }
}

void check_split_axis(Opcode opcode, std::string_view name, const Shape& shape, int axis) {
  if (shape[axis] > 0) return;
  throw invalid_argument("{}: size of {}, got 0 in {}, expected at least 1", opcode, name, shape);
}

void check_pairs(Opcode opcode, std::span<const std::pair<int64_t, int64_t>> pairs) {
  Dims sources;
  Dims targets;
  for (const auto& [source, target] : pairs) {
    sources.push_back(source);
    targets.push_back(target);
  }
  for (const auto& [what, ids] : {std::pair{"sources", &sources}, std::pair{"targets", &targets}}) {
    const std::string name = fmt::format("source_target_pairs: {}", what);
    check_unique(opcode, name, *ids);
    check_at_least(opcode, name, *ids, 0);
  }
}

void check_channel(Opcode opcode, const TransferAttrs& attrs, int64_t host_type) {
  const int64_t expected = attrs.is_host_transfer ? host_type : 1;
  if (attrs.channel_handle.type == expected) return;
  throw invalid_argument("{}: type of channel_handle, got {} with is_host_transfer {}, expected {}",
                         opcode, attrs.channel_handle.type, attrs.is_host_transfer, expected);
}

std::optional<int64_t> group_size(const CollectiveAttrs& attrs) {
  const bool spans_partitions = attrs.channel_handle.handle > 0 && !attrs.use_global_device_ids;
  if (spans_partitions || attrs.replica_groups.num_elements() == 0) return std::nullopt;
  return attrs.replica_groups.dim(1);
}

Grouping grouping_of(const CollectiveAttrs& attrs) {
  if (attrs.channel_handle.handle <= 0) return Grouping::cross_replica;
  return attrs.use_global_device_ids ? Grouping::flattened_ids
                                     : Grouping::cross_replica_and_partition;
}

Grouping grouping_of(const ChannelHandle& channel) {
  return channel.handle <= 0 ? Grouping::cross_replica : Grouping::cross_partition;
}

Error no_such_process(const Instruction& instruction, std::string_view attribute, int64_t id,
                      int64_t num_processes) {
  if (num_processes > 1) {
    return invalid_argument("{}: {}, got id {}, expected below {}", instruction.opcode(), attribute,
                            id, num_processes);
  }
  return unimplemented(
      "{}: {}, got id {}, expected 0: this program was exported for several devices, and one runs "
      "it, {}",
      instruction.opcode(), attribute, id, instruction.describe());
}

std::vector<int64_t> group_around(const Instruction& instruction, const Process& process,
                                  const CollectiveAttrs& attrs, Grouping grouping, Groups groups) {
  const int64_t num_ids = count_ids(process.grid(), grouping);
  const int64_t own = own_id(process, grouping);
  int64_t found = 0;
  std::vector<int64_t> around;
  for (const std::vector<int64_t>& row : id_groups(attrs.replica_groups, num_ids)) {
    for (const int64_t id : row) {
      ++found;
      if (id < num_ids) continue;
      throw no_such_process(instruction, "replica_groups", id, num_ids);
    }
    if (std::ranges::find(row, own) != row.end()) around = processes_of(row, process, grouping);
  }
  if (groups != Groups::some && found != num_ids) {
    throw invalid_argument("{}: replica_groups, got {} ids, expected {}, one a process",
                           instruction.opcode(), found, num_ids);
  }
  return around;
}

std::vector<std::vector<Tensor>> exchange_in_group(const Instruction& instruction,
                                                   std::span<const Tensor> operands,
                                                   const Evaluator& evaluator,
                                                   const CollectiveAttrs& attrs, Grouping grouping,
                                                   Groups groups) {
  Process& process = evaluator.process();
  return process.exchange(instruction, group_around(instruction, process, attrs, grouping, groups),
                          {operands.begin(), operands.end()});
}

std::vector<Tensor> column(std::span<const std::vector<Tensor>> given, size_t i) {
  std::vector<Tensor> tensors;
  for (const std::vector<Tensor>& of_process : given) tensors.push_back(of_process[i]);
  return tensors;
}

std::vector<TensorType> check_rooted(const InferContext& context) {
  const auto& attrs = context.get<RootedCollectiveAttrs>();
  check_groups(context.opcode, attrs.groups, Groups::some);  // C1, C2
  if (context.opcode == Opcode::collective_broadcast) {
    const std::span<const int64_t> ids = attrs.groups.replica_groups.data<int64_t>();
    check_at_least(context.opcode, "replica_groups", ids, 0);  // no fillers
  }
  std::vector<TensorType> types = types_of(context.operands);
  if (!attrs.has_dynamic_root) return types;  // C3
  const TensorType roots = types.back();
  types.pop_back();
  const TensorType expected{DType::s32, {static_cast<int64_t>(types.size())}};
  if (types.empty() || roots != expected) {  // C4
    throw invalid_argument("{}: roots, got {}, expected {}, one an operand", context.opcode, roots,
                           expected);
  }
  return types;
}

size_t root_of(const Instruction& instruction, std::span<const Tensor> operands, size_t i,
               size_t group_size) {
  if (!instruction.attrs<RootedCollectiveAttrs>().has_dynamic_root) return 0;
  const int64_t root = operands.back().data<int32_t>()[i];
  if (root < 0 || root >= static_cast<int64_t>(group_size)) {  // C6
    throw invalid_argument("{}: root, got {}, expected in [0, {})", instruction.opcode(), root,
                           group_size);
  }
  return static_cast<size_t>(root);
}

std::vector<Tensor> zeros_of(std::span<const TensorType> types) {
  std::vector<Tensor> zeros;
  for (const TensorType& type : types) zeros.push_back(Tensor::zeros(type.dtype, type.shape));
  return zeros;
}

Tensor combine_elements(const Computation& region, const Evaluator& evaluator, DType dtype,
                        std::span<const Tensor> tensors) {
  const LiftedRegion combine(region, evaluator);
  Tensor result = tensors[0].cast(dtype);
  for (const Tensor& tensor : tensors.subspan(1)) {
    result = combine.apply(std::vector<Tensor>{result, tensor.cast(dtype)})[0];
  }
  return result;
}

Tensor split_part(const Tensor& tensor, int axis, int64_t count, int64_t i) {
  Shape shape = tensor.shape();
  shape.set_dim(axis, shape[axis] / count);
  Tensor part(tensor.dtype(), shape);
  StridedView from = view_of(tensor.shape());
  from.offset = i * shape[axis] * from.strides[axis];
  copy_strided(part, view_of(shape), tensor, from, shape.dims());
  return part;
}

const TensorType& declared_result(const InferContext& context, int i) {
  if (static_cast<size_t>(i) < context.declared.size()) {
    return context.declared[i];
  }
  throw invalid_argument(
      "{}: declared result types, got {}, expected one for each operand: the size of groups is "
      "not known",
      context.opcode, context.declared.size());
}

}  // namespace systole::hlo
