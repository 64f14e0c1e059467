// The devices that share a program, as a grid whose axes are small enough for every mesh of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "systole/hlo/ir/sharding.h"

namespace systole::hlo::spmd {

// Axes of the grid, major to minor. Each has a prime number of devices.
using Atoms = std::vector<int>;
// Returns the atoms of `a` that `b` has, or has not, in the order of `a`.
Atoms common(const Atoms& a, const Atoms& b);
Atoms without(const Atoms& a, const Atoms& b);
// Returns the atoms of both, ascending.
Atoms united(const Atoms& a, const Atoms& b);

// The axes of the grid along which each axis of an array is split, and those over which the array
// is a sum that is not added up: each device has a term.
struct Layout {
  std::vector<Atoms> dims;
  Atoms unreduced;  // ascending
  bool is_replicated() const;
  friend bool operator==(const Layout&, const Layout&) = default;
};

// Meshes of different names and axes, and parts of axes, are lists of atoms of one grid.
class Grid {
 public:
  // Errors: INVALID_ARGUMENT for a mesh with another number of devices, unless it has one.
  // UNIMPLEMENTED if no grid fits all meshes.
  Grid(int64_t num_devices, std::span<const Sharding> shardings);

  int64_t num_devices() const { return num_devices_; }
  int num_atoms() const { return static_cast<int>(atoms_.size()); }
  int64_t size(int atom) const { return atoms_[atom].size; }
  int64_t size(const Atoms& atoms) const;
  // Returns the index of the device along the atoms.
  int64_t index(const Atoms& atoms, int64_t device) const;
  // Returns the devices that differ in these atoms alone, in order of their index, for each index
  // of the others.
  std::vector<std::vector<int64_t>> groups(const Atoms& atoms) const;

  Layout layout_of(const Sharding& sharding) const;
  Atoms atoms_of(const Mesh& mesh, const AxisRef& axis) const;
  // Returns the sharding that means `layout`, in axes of the first mesh of which the grid was made.
  Sharding sharding_of(const Layout& layout) const;
  Layout replicated(int rank) const {
    return {.dims = std::vector<Atoms>(static_cast<size_t>(rank)), .unreduced = {}};
  }

 private:
  struct Atom {
    int64_t size;
    int64_t stride;  // of places
  };
  bool fit(std::span<const Sharding> shardings);
  // Returns the atoms as axes of the first mesh, and parts of them.
  std::vector<AxisRef> axes_of(const Atoms& atoms) const;
  // Returns the stride of each axis in places. Returns false if the mesh orders them otherwise.
  bool strides_of(const Mesh& mesh, std::vector<int64_t>& strides) const;

  int64_t num_devices_;
  std::vector<int64_t> order_;   // device by place
  std::vector<int64_t> places_;  // place by device
  std::vector<Atom> atoms_;      // by descending stride
  std::string mesh_name_;
  Mesh mesh_;
};

}  // namespace systole::hlo::spmd
