// Layers that change the spatial sizes of images, sequences and volumes. (tf.keras.layers)
//
//   st::keras::layers::ZeroPadding2D({{1, 1}, {2, 2}})   // rows: 1 and 1; columns: 2 and 2
//
// data_format is "channels_last" (the default) or "channels_first"; layers of sequences have none.
// A mask is refused.
#pragma once

#include <initializer_list>

#include "systole/keras/base/fields.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {

// Elements at the ends of one axis.
struct Edge {
  Edge(int64_t both) : low(both), high(both), is_pair(false) {}  // NOLINT: a number, as in Python
  Edge(int64_t low, int64_t high) : low(low), high(high) {}

  int64_t low;
  int64_t high;
  bool is_pair = true;  // written as a pair
};

// Elements at the ends of the spatial axes: 1 for all ends; {1, 2}, a number for both ends of each
// axis; {{1, 2}, {3, 4}}, a pair for each. Of a sequence {1, 2} are the two ends.
struct Edges {
  Edges(int64_t all) : axes{all} {}  // NOLINT: a number, as in Python
  Edges(Edge all) : axes{all} {}     // NOLINT
  Edges(Edge first, Edge second) : axes{first, second} {}
  Edges(Edge first, Edge second, Edge third) : axes{first, second, third} {}
  explicit Edges(std::vector<Edge> axes) : axes(std::move(axes)) {}

  std::vector<Edge> axes;
};

struct ZeroPaddingOptions {
  ByName by_name = ByName();
  Edges padding = 1;
  std::optional<std::string> data_format = std::nullopt;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// Zeros around the input.
template <int kRank>
class ZeroPadding : public Layer {
 public:
  explicit ZeroPadding(Edges padding = 1, ZeroPaddingOptions options = {},
                       Where where = Where::current());
  explicit ZeroPadding(ZeroPaddingOptions options, Where where = Where::current())
      : ZeroPadding(Edges(options.padding), options, where) {}
};
using ZeroPadding1D = ZeroPadding<1>;
using ZeroPadding2D = ZeroPadding<2>;
using ZeroPadding3D = ZeroPadding<3>;

template <int kRank>
struct CroppingOptions {
  ByName by_name = ByName();
  Edges cropping = kRank == 2 ? 0 : 1;
  std::optional<std::string> data_format = std::nullopt;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// The input without elements at its ends. Errors: INVALID_ARGUMENT where nothing is left.
template <int kRank>
class Cropping : public Layer {
 public:
  explicit Cropping(Edges cropping = kRank == 2 ? 0 : 1, CroppingOptions<kRank> options = {},
                    Where where = Where::current());
  explicit Cropping(CroppingOptions<kRank> options, Where where = Where::current())
      : Cropping(Edges(options.cropping), options, where) {}
};
using Cropping1D = Cropping<1>;
using Cropping2D = Cropping<2>;
using Cropping3D = Cropping<3>;

struct UpSamplingOptions {
  ByName by_name = ByName();
  Sizes size = 2;
  std::optional<std::string> data_format = std::nullopt;
  // "bilinear", for images of known sizes: as resize_bilinear of TensorFlow 1, or, with
  // half_pixel_centers, as that of TensorFlow 2. Layers of files have what the file's version says.
  std::string interpolation = "nearest";
  bool half_pixel_centers = false;
  InputShape input_shape = std::nullopt;
  InputShape batch_input_shape = std::nullopt;
  std::string name = {};
  bool trainable = true;
};
// Each element repeated size[i] times along axis i.
template <int kRank>
class UpSampling : public Layer {
 public:
  explicit UpSampling(Sizes size = 2, UpSamplingOptions options = {},
                      Where where = Where::current());
  explicit UpSampling(UpSamplingOptions options, Where where = Where::current())
      : UpSampling(Sizes(options.size), options, where) {}
};
using UpSampling1D = UpSampling<1>;
using UpSampling2D = UpSampling<2>;
using UpSampling3D = UpSampling<3>;

}  // namespace systole::keras::layers

namespace systole::keras {

template <>
struct JsonType<layers::Edges> {
  static constexpr std::string_view name = "an integer, a list of integers or of pairs";
  // One axis as a pair, several as pairs.
  static Json to_json(const layers::Edges& edges);
  static layers::Edges from_json(const Json& json);
};

}  // namespace systole::keras
