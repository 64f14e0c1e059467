// Runs partitioned programs and compares them with the whole ones.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "systole/base/random.h"
#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"

namespace systole::hlo::testing {

// The mesh <["x", "y", "z"]> of 2, 4 or 8 devices; axes that are not needed have one.
std::string mesh_of(int num_devices);

// A random sharding on `@mesh` for an array of these sizes; axes of the mesh split only even sizes.
// The array may be a sum that is not added up, if `may_be_sum`.
std::string random_sharding(RandomStream& random, std::span<const int64_t> sizes,
                            bool may_be_sum = false);

// Gives random shardings to parameters, results and some values of a program.
void shard_randomly(Module& module, int num_devices, uint64_t seed);

// Runs a program that `num_devices` devices share: takes the parts of arguments, and returns those
// of results, by device and by parameter or result.
using DeviceRunner = std::function<std::vector<std::vector<Tensor>>(
    const Module& module, int num_devices, const std::vector<std::vector<Tensor>>& parts)>;

// Runs a program on several devices with random arguments, by default the partitioned one by the
// reference semantics. Returns "" if each device has its part of what `whole` computes, by default
// the program itself, which one device can run if it has no manual computation. Otherwise describes
// the first difference. The default tolerance is 1e-4.
std::string partition_difference(const Module& module, int num_devices, uint64_t seed,
                                 const Module* whole = nullptr,
                                 const std::vector<double>& tolerances = {},
                                 const DeviceRunner& run = {});

}  // namespace systole::hlo::testing
