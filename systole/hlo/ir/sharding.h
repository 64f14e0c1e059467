// Shardings: how the axes of an array are spread over the devices of a mesh. The texts are
// Shardy's, and those of GSPMD. Value types, independent of modules.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

// A grid of devices, in row-major order of its axes: <["x"=2, "y"=4]>. A mesh without axes and with
// one device id is that device alone (maximal).
struct Mesh {
  std::vector<MeshAxis> axes;
  std::vector<int64_t> device_ids;  // a permutation; empty: 0, 1, 2...

  int64_t num_devices() const;
  bool is_maximal() const { return axes.empty() && device_ids.size() == 1; }
  const MeshAxis* find(std::string_view name) const;
  std::string to_string() const;
  friend bool operator==(const Mesh&, const Mesh&) = default;
};

// An axis of a mesh, or a part of it: "x":(2)4 is the part of size 4 that has 2 times as many
// devices before it, in row-major order.
struct AxisRef {
  std::string name;
  int64_t pre_size = 1;
  int64_t size = 0;  // 0: the whole axis
  friend bool operator==(const AxisRef&, const AxisRef&) = default;
};

// The mesh axes along which one axis of an array is split, major to minor.
struct DimSharding {
  std::vector<AxisRef> axes;
  bool open = false;  // propagation may add more
  int64_t priority = 0;
  friend bool operator==(const DimSharding&, const DimSharding&) = default;
};

struct Sharding {
  std::string mesh_name;  // "" for a mesh that is written in place
  Mesh mesh;
  std::vector<DimSharding> dims;
  std::vector<AxisRef> replicated;  // axes that must not split anything
  std::vector<AxisRef> unreduced;   // axes over which the value is a sum that is not added up yet

  bool is_replicated() const;  // whether no axis of the array is split
  // The text form #sdy.sharding<...>, which parse_sharding() reads.
  std::string to_string() const;
  // Returns the number of parts of axis `dim`.
  int64_t num_shards(int dim) const;
  // Returns the shape of a device's part. Errors: INVALID_ARGUMENT if an axis does not divide, or
  // for another rank.
  Shape local_shape(const Shape& whole) const;
  // Returns, for each axis of the array, the index of the device's part. 0 for devices that a
  // maximal mesh does not have.
  std::vector<int64_t> shard_of(int64_t device) const;
  friend bool operator==(const Sharding&, const Sharding&) = default;
};

// The sharding of an array of this rank that every device has whole.
Sharding replicated_sharding(int rank);

using Meshes = std::map<std::string, Mesh, std::less<>>;
// Returns the meshes of the module's attributes, by name. Errors: those of parse_mesh().
Meshes meshes_of(const Module& module);

// Reads `<["x"=2, "y"=4], device_ids=[...]>`, also with `mesh` or `#sdy.mesh` before it. Errors:
// INVALID_ARGUMENT for other text, sizes below 1, names that repeat, more than kMaxMeshDevices
// devices, and device ids that are no permutation.
inline constexpr int64_t kMaxMeshDevices = int64_t{1} << 20;
Mesh parse_mesh(std::string_view text);

// Reads Shardy's `#sdy.sharding<@mesh, [{"x"}, {"y", ?}p1], replicated={"z"}>`, `<@mesh, [...]>`
// and a
// `#sdy.sharding_per_value<[...]>` of one, and GSPMD's `"{devices=[2,1]<=[2]}"`, with or without
// quotes. `rank` is the array's. Errors: INVALID_ARGUMENT for other text, unknown meshes and axes,
// axes used twice, and another rank.
Sharding parse_sharding(std::string_view text, const Meshes& meshes, int rank);
// Reads `#sdy.sharding_per_value<[...]>`, one sharding for each rank.
std::vector<Sharding> parse_shardings(std::string_view text, const Meshes& meshes,
                                      const std::vector<int>& ranks);
// Reads `#sdy<manual_axes{"x", "y"}>` or `{"x"}`.
std::vector<std::string> parse_manual_axes(std::string_view text);

}  // namespace systole::hlo
