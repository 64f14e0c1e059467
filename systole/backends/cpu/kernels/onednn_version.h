// What differs between oneDNN 2 (Debian 12) and oneDNN 3 (Debian 13). Nothing else asks for the
// version.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <utility>

namespace systole::cpu {

#if DNNL_VERSION_MAJOR >= 3

using PoolingForward = dnnl::pooling_forward;
using PoolingBackward = dnnl::pooling_backward;

inline dnnl::memory::dims sizes_of(const dnnl::memory::desc& desc) { return desc.get_dims(); }
inline dnnl::memory::dims strides_of(const dnnl::memory::desc& desc) { return desc.get_strides(); }
inline int64_t rank_of(const dnnl::memory::desc& desc) { return desc.get_ndims(); }
inline dnnl::memory::data_type type_of(const dnnl::memory::desc& desc) {
  return desc.get_data_type();
}

// Returns the elements of an axis that the layout keeps together in blocks, 1 for none.
inline int64_t block_of_axis(const dnnl::memory::desc& desc, int64_t axis) {
  const dnnl::memory::dims blocks = desc.get_inner_blks();
  const dnnl::memory::dims axes = desc.get_inner_idxs();
  int64_t block = 1;
  for (size_t i = 0; i < blocks.size(); ++i) block *= axes[i] == axis ? blocks[i] : 1;
  return block;
}

// Describes a primitive by the arguments of its operation: memory descriptions, strides and so on.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc describe(const dnnl::primitive_attr& attributes,
                                            const dnnl::engine& engine, Arguments&&... arguments) {
  return
      typename Primitive::primitive_desc(engine, std::forward<Arguments>(arguments)..., attributes);
}
// The same, and calls change(description) while all lives that the description's next
// implementations are made of.
template <class Primitive, class Change, class... Arguments>
typename Primitive::primitive_desc describe_changed(const Change& change,
                                                    const dnnl::primitive_attr& attributes,
                                                    const dnnl::engine& engine,
                                                    Arguments&&... arguments) {
  auto description = describe<Primitive>(attributes, engine, std::forward<Arguments>(arguments)...);
  change(description);
  return description;
}
// Describes the primitive of a gradient. oneDNN wants the description of its forward primitive,
// `forward`, as a hint.
template <class Primitive, class Forward, class... Arguments>
typename Primitive::primitive_desc describe_gradient(const Forward& forward,
                                                     const dnnl::primitive_attr& attributes,
                                                     const dnnl::engine& engine,
                                                     Arguments&&... arguments) {
  return typename Primitive::primitive_desc(engine, std::forward<Arguments>(arguments)..., forward,
                                            attributes);
}

// Returns the layout of the scratch memory that a primitive wants.
inline dnnl::memory::desc scratchpad_of(const dnnl::primitive& primitive) {
  const const_dnnl_memory_desc_t layout =
      dnnl_primitive_desc_query_md(primitive.get_primitive_desc(), dnnl_query_scratchpad_md, 0);
  if (layout == nullptr) return {};
  dnnl_memory_desc_t copy = nullptr;
  dnnl::error::wrap_c_api(dnnl_memory_desc_clone(&copy, layout),
                          "could not copy a memory description");
  return dnnl::memory::desc(copy);
}

#else

using PoolingForward = dnnl::pooling_v2_forward;
using PoolingBackward = dnnl::pooling_v2_backward;

inline dnnl::memory::dims sizes_of(const dnnl::memory::desc& desc) { return desc.dims(); }
inline dnnl::memory::dims strides_of(const dnnl::memory::desc& desc) {
  const auto& strides = desc.data.format_desc.blocking.strides;
  return {strides, strides + desc.data.ndims};
}
inline int64_t rank_of(const dnnl::memory::desc& desc) { return desc.data.ndims; }
inline dnnl::memory::data_type type_of(const dnnl::memory::desc& desc) { return desc.data_type(); }

// Returns the elements of an axis that the layout keeps together in blocks, 1 for none.
inline int64_t block_of_axis(const dnnl::memory::desc& desc, int64_t axis) {
  const auto& layout = desc.data.format_desc.blocking;
  int64_t block = 1;
  for (int i = 0; i < layout.inner_nblks; ++i)
    block *= layout.inner_idxs[i] == axis ? layout.inner_blks[i] : 1;
  return block;
}

// Describes a primitive by the arguments of its operation: memory descriptions, strides and so on.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc describe(const dnnl::primitive_attr& attributes,
                                            const dnnl::engine& engine, Arguments&&... arguments) {
  return typename Primitive::primitive_desc(
      typename Primitive::desc(std::forward<Arguments>(arguments)...), attributes, engine);
}
// The same, and calls change(description) while all lives that the description's next
// implementations are made of.
template <class Primitive, class Change, class... Arguments>
typename Primitive::primitive_desc describe_changed(const Change& change,
                                                    const dnnl::primitive_attr& attributes,
                                                    const dnnl::engine& engine,
                                                    Arguments&&... arguments) {
  // (oneDNN keeps its address.)
  const typename Primitive::desc operation(std::forward<Arguments>(arguments)...);
  typename Primitive::primitive_desc description(operation, attributes, engine);
  change(description);
  return description;
}
// Describes the primitive of a gradient. oneDNN wants the description of its forward primitive,
// `forward`, as a hint.
template <class Primitive, class Forward, class... Arguments>
typename Primitive::primitive_desc describe_gradient(const Forward& forward,
                                                     const dnnl::primitive_attr& attributes,
                                                     const dnnl::engine& engine,
                                                     Arguments&&... arguments) {
  return typename Primitive::primitive_desc(
      typename Primitive::desc(std::forward<Arguments>(arguments)...), attributes, engine, forward);
}

// Returns the layout of the scratch memory that a primitive wants.
inline dnnl::memory::desc scratchpad_of(const dnnl::primitive& primitive) {
  const auto* layout =
      dnnl_primitive_desc_query_md(primitive.get_primitive_desc(), dnnl_query_scratchpad_md, 0);
  return layout == nullptr ? dnnl::memory::desc() : dnnl::memory::desc(*layout);
}

#endif

}  // namespace systole::cpu
