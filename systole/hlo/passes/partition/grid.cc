#include "systole/hlo/passes/partition/grid.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "systole/base/error.h"

namespace systole::hlo::spmd {
namespace {

// Appends the prime factors of `size`, ascending.
void add_primes(int64_t size, std::vector<int64_t>& primes) {
  for (int64_t p = 2; p * p <= size; ++p) {
    for (; size % p == 0; size /= p) primes.push_back(p);
  }
  if (size > 1) primes.push_back(size);
}

std::vector<int64_t> iota_of(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

bool is_spread(const Mesh& mesh) { return mesh.num_devices() > 1; }

}  // namespace

Atoms common(const Atoms& a, const Atoms& b) { return without(a, without(a, b)); }

Atoms without(const Atoms& a, const Atoms& b) {
  Atoms result;
  for (const int atom : a) {
    if (std::ranges::find(b, atom) == b.end()) result.push_back(atom);
  }
  return result;
}

Atoms united(const Atoms& a, const Atoms& b) {
  Atoms result = without(b, a);
  result.insert(result.end(), a.begin(), a.end());
  std::ranges::sort(result);
  return result;
}

bool Layout::is_replicated() const {
  return unreduced.empty() &&
         std::ranges::all_of(dims, [](const Atoms& atoms) { return atoms.empty(); });
}

Grid::Grid(int64_t num_devices, std::span<const Sharding> shardings) : num_devices_(num_devices) {
  if (num_devices < 1 || num_devices > kMaxMeshDevices) {
    throw invalid_argument("partition: number of partitions, got {}, expected 1 to {}", num_devices,
                           kMaxMeshDevices);
  }
  std::vector<std::vector<int64_t>> orders{iota_of(num_devices)};
  for (const Sharding& sharding : shardings) {
    const Mesh& mesh = sharding.mesh;
    if (!is_spread(mesh)) continue;
    if (mesh.num_devices() != num_devices) {
      throw invalid_argument("partition: mesh, got {} devices in {}, expected {} or one",
                             mesh.num_devices(), mesh.to_string(), num_devices);
    }
    if (mesh_.axes.empty()) {
      mesh_ = mesh;
      mesh_name_ = sharding.mesh_name;
    }
    if (!mesh.device_ids.empty() && orders.size() < 8) orders.push_back(mesh.device_ids);
  }
  for (std::vector<int64_t>& order : orders) {
    order_ = std::move(order);
    places_ = order_;
    for (size_t i = 0; i < order_.size(); ++i) places_[order_[i]] = static_cast<int64_t>(i);
    if (fit(shardings)) return;
  }
  throw unimplemented(
      "partition: meshes, got several that order the devices in unlike ways, expected axes of one "
      "grid");
}

bool Grid::strides_of(const Mesh& mesh, std::vector<int64_t>& strides) const {
  strides.assign(mesh.axes.size(), 1);
  for (size_t i = mesh.axes.size(); i-- > 1;) strides[i - 1] = strides[i] * mesh.axes[i].size;
  const bool in_order = mesh.device_ids.empty() && std::ranges::is_sorted(order_);
  if (in_order || mesh.device_ids == order_) return true;
  const auto place_at = [&](int64_t i) {
    return places_[mesh.device_ids.empty() ? i : mesh.device_ids[i]];
  };
  std::vector<int64_t> steps;
  for (size_t a = 0; a < strides.size(); ++a) {
    steps.push_back(mesh.axes[a].size == 1 ? 1 : place_at(strides[a]) - place_at(0));
  }
  for (int64_t i = 0; i < num_devices_; ++i) {
    int64_t place = 0;
    for (size_t a = 0; a < strides.size(); ++a) {
      place += i / strides[a] % mesh.axes[a].size * steps[a];
    }
    if (place != place_at(i)) return false;
  }
  strides = std::move(steps);
  return std::ranges::all_of(strides, [](int64_t stride) { return stride > 0; });
}

bool Grid::fit(std::span<const Sharding> shardings) {
  std::set<int64_t> cuts{1, num_devices_};
  std::vector<int64_t> strides;
  for (const Sharding& sharding : shardings) {
    const Mesh& mesh = sharding.mesh;
    if (!is_spread(mesh)) continue;
    if (!strides_of(mesh, strides)) return false;
    const auto cut = [&](const AxisRef& axis) {
      for (size_t a = 0; a < mesh.axes.size(); ++a) {
        if (mesh.axes[a].name != axis.name) continue;
        const int64_t whole = mesh.axes[a].size;
        cuts.insert(strides[a] * (whole / axis.pre_size));
        cuts.insert(strides[a] * (axis.size == 0 ? 1 : whole / axis.pre_size / axis.size));
      }
    };
    for (const MeshAxis& axis : mesh.axes) cut({.name = axis.name});
    for (const DimSharding& dim : sharding.dims) std::ranges::for_each(dim.axes, cut);
    std::ranges::for_each(sharding.replicated, cut);
    std::ranges::for_each(sharding.unreduced, cut);
  }
  atoms_.clear();
  for (auto high = cuts.rbegin(); std::next(high) != cuts.rend(); ++high) {
    const int64_t low = *std::next(high);
    if (*high % low != 0) return false;
    std::vector<int64_t> primes;
    add_primes(*high / low, primes);
    int64_t stride = *high;
    for (const int64_t prime : primes) {
      stride /= prime;
      atoms_.push_back({prime, stride});
    }
  }
  return true;
}

int64_t Grid::size(const Atoms& atoms) const {
  int64_t product = 1;
  for (const int atom : atoms) product *= size(atom);
  return product;
}

int64_t Grid::index(const Atoms& atoms, int64_t device) const {
  int64_t result = 0;
  for (const int atom : atoms) {
    const Atom& a = atoms_[atom];
    result = result * a.size + places_[device] / a.stride % a.size;
  }
  return result;
}

std::vector<std::vector<int64_t>> Grid::groups(const Atoms& atoms) const {
  Atoms others;
  for (int atom = 0; atom < static_cast<int>(atoms_.size()); ++atom) {
    if (std::ranges::find(atoms, atom) == atoms.end()) others.push_back(atom);
  }
  std::vector<std::vector<int64_t>> result(static_cast<size_t>(size(others)),
                                           std::vector<int64_t>(static_cast<size_t>(size(atoms))));
  for (int64_t device = 0; device < num_devices_; ++device) {
    result[index(others, device)][index(atoms, device)] = device;
  }
  return result;
}

Atoms Grid::atoms_of(const Mesh& mesh, const AxisRef& axis) const {
  Atoms result;
  std::vector<int64_t> strides;
  if (!is_spread(mesh)) return result;
  strides_of(mesh, strides);
  for (size_t a = 0; a < mesh.axes.size(); ++a) {
    if (mesh.axes[a].name != axis.name) continue;
    const int64_t whole = mesh.axes[a].size;
    const int64_t high = strides[a] * (whole / axis.pre_size);
    const int64_t low = strides[a] * (axis.size == 0 ? 1 : whole / axis.pre_size / axis.size);
    for (int atom = 0; atom < static_cast<int>(atoms_.size()); ++atom) {
      const int64_t stride = atoms_[atom].stride;
      if (stride >= low && stride < high) result.push_back(atom);
    }
  }
  return result;
}

Layout Grid::layout_of(const Sharding& sharding) const {
  Layout layout;
  for (const DimSharding& dim : sharding.dims) {
    Atoms& atoms = layout.dims.emplace_back();
    for (const AxisRef& axis : dim.axes) {
      const Atoms more = atoms_of(sharding.mesh, axis);
      atoms.insert(atoms.end(), more.begin(), more.end());
    }
  }
  for (const AxisRef& axis : sharding.unreduced) {
    layout.unreduced = united(layout.unreduced, atoms_of(sharding.mesh, axis));
  }
  return layout;
}

std::vector<AxisRef> Grid::axes_of(const Atoms& atoms) const {
  std::vector<AxisRef> axes;
  for (const int atom : atoms) {
    for (const MeshAxis& axis : mesh_.axes) {
      const Atoms whole = atoms_of(mesh_, {.name = axis.name});
      const auto found = std::ranges::find(whole, atom);
      if (found == whole.end()) continue;
      const int64_t before = size(Atoms(whole.begin(), found));
      if (!axes.empty() && axes.back().name == axis.name &&
          axes.back().pre_size * axes.back().size == before) {
        axes.back().size *= size(atom);
      } else {
        axes.push_back({axis.name, before, size(atom)});
      }
    }
  }
  for (AxisRef& axis : axes) {
    if (axis.pre_size == 1 && axis.size == mesh_.find(axis.name)->size) axis.size = 0;
  }
  return axes;
}

Sharding Grid::sharding_of(const Layout& layout) const {
  Sharding sharding = replicated_sharding(static_cast<int>(layout.dims.size()));
  sharding.mesh = mesh_;
  sharding.mesh_name = mesh_name_;
  for (size_t d = 0; d < layout.dims.size(); ++d) sharding.dims[d].axes = axes_of(layout.dims[d]);
  sharding.unreduced = axes_of(layout.unreduced);
  return sharding;
}

}  // namespace systole::hlo::spmd
