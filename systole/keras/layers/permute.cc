#include "systole/graph/api/array_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/core.h"

namespace systole::keras::layers {
namespace {

class PermuteLayer : public LayerOf<PermuteLayer, PermuteOptions> {
 public:
  static constexpr std::string_view kClassName = "Permute";
  static std::vector<Field<PermuteOptions>> fields() {
    using O = PermuteOptions;
    return {required("dims", &O::dims)};
  }

  explicit PermuteLayer(PermuteOptions options) : LayerOf(std::move(options)) {
    std::vector<int64_t> sorted = options_.dims;
    std::ranges::sort(sorted);
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i] == static_cast<int64_t>(i) + 1) continue;
      throw invalid_argument("Permute: dims, expected each of 1 to {} once", sorted.size());
    }
    input_specs_ = {{.ndim = static_cast<int>(options_.dims.size()) + 1}};
  }
  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    std::vector<int64_t> perm{0};
    perm.insert(perm.end(), options_.dims.begin(), options_.dims.end());
    return {transpose(inputs.at(0), {.perm = perm})};
  }
};

}  // namespace

LayerClass permute_class() { return layer_class<PermuteLayer, PermuteOptions>(); }

Permute::Permute(std::vector<int64_t> dims, PermuteOptions options, Where where)
    : Layer([&] {
        options.dims = std::move(dims);
        return make_layer<PermuteLayer>(std::move(options), where);
      }()) {}

}  // namespace systole::keras::layers
