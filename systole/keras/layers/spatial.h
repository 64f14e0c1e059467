// What layers over space (images, sequences, volumes) share: data formats, sizes along the spatial
// axes, and the arguments that mean the same in all of them. Not for users.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/keras/base/fields.h"
#include "systole/keras/engine/layer.h"

namespace systole::keras::layers {

// Where a tensor [batch, sizes.., channels] or [batch, channels, sizes..] keeps its axes.
struct SpatialAxes {
  int rank;  // the number of spatial axes
  bool channels_first;

  int ndim() const { return rank + 2; }
  int channels() const { return channels_first ? 1 : rank + 1; }
  int spatial(int i) const { return (channels_first ? 2 : 1) + i; }
  // Returns the data format of ops for this rank; sequences pass through those of images.
  std::string op_format() const;
};
SpatialAxes spatial_axes(int rank, const std::optional<std::string>& data_format);

// -- Arguments, brought into the form in which Keras writes them to files. Errors: INVALID_ARGUMENT
// `<class>: <argument>, got <value>, expected <value>`.

// nullopt becomes "channels_last".
void normalize_data_format(std::string_view layer, std::optional<std::string>& data_format);
// In lower case.
void normalize_padding(std::string_view layer, std::string& padding, bool causal = false);
// One number for each axis, `least` or more.
void normalize_sizes(std::string_view layer, std::string_view argument, Sizes& sizes, int rank,
                     int64_t least = 1);

// "(3, 3)"
std::string tuple_text(const std::vector<int64_t>& values);

// The number of channels of a layer's input. Errors: INVALID_ARGUMENT when it is not known.
int64_t known_channels(const LayerDefinition& layer, const SpatialAxes& axes, const Shape& input);

// Checks that a window, `argument` of the layer, fits into its input. Errors: INVALID_ARGUMENT with
// the numbers.
void check_window_fits(const LayerDefinition& layer, std::string_view argument,
                       const SpatialAxes& axes, const Shape& input,
                       const std::vector<int64_t>& window);

// -- Ops for one spatial axis are those for two, the first of size 1.

Output widened(const SpatialAxes& axes, const Output& x);
Output narrowed(const SpatialAxes& axes, const Output& x);
// With a 1 in front for one axis.
std::vector<int64_t> widened(const Sizes& sizes);

}  // namespace systole::keras::layers
