# systole_op_list(<out variable> KIND graph|hlo|chlo|kernel|layer|optimizer FOLDER <folder>)
#
# Generates the C++ file that lists the definitions in the sources of a folder. The folder is the only list.
#   graph  ops/<family>/<op>.cc     extern const OpDef op_<op>;                      in namespace systole::ops
#          the file defines         std::span<const OpDef* const> all_op_defs()      of systole/graph/op_def.h
#   hlo    ops/<opcode>.cc defines  extern const OpSemantics <opcode>_semantics;     in namespace systole::hlo::ops
#          the file defines         std::span<const NamedSemantics> all_semantics()  of systole/hlo/semantics/op_semantics.h
#   chlo   ops/<op>.cc defines      extern const Expand <op>_expansion;              in namespace systole::hlo::chlo::ops
#          the file defines         std::span<const NamedExpansion> expansion_files()  of systole/hlo/chlo/op_list.h
#   layer  layers/<family>.cc      LayerClass <layer>_class();  one or more          in namespace systole::keras::layers
#          the file defines         std::span<LayerClass (*const)()> layer_class_files()  of systole/keras/engine/layer_class.h
#   optimizer optimizers/<o>.cc    OptimizerClass <o>_class();                      in namespace systole::keras
#          the file defines         optimizer_class_files()  of systole/keras/optimizers/optimizer_class.h
#   kernel kernels/<op>.cc defines  extern const HostKernelDef <op>_kernel;           in namespace systole::kernels
#          the file defines         std::span<const HostKernelDef* const> all_kernel_defs()  of systole/session/host/host_kernel.h
# The list is sorted by name and excludes tests. A folder without sources yields no file.
function(systole_op_list out)
  cmake_parse_arguments(arg "" "KIND;FOLDER" "" ${ARGN})
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${arg_FOLDER}/*.cc")
  list(FILTER files EXCLUDE REGEX "_test\\.cc$")
  if(NOT files)
    set(${out} "" PARENT_SCOPE)
    return()
  endif()
  set(names "")
  foreach(file IN LISTS files)
    if(arg_KIND STREQUAL "layer")
      file(STRINGS "${file}" definitions REGEX "^LayerClass [a-z0-9_]+_class\\(\\)")
      foreach(definition IN LISTS definitions)
        if(definition MATCHES "^LayerClass ([a-z0-9_]+)_class\\(\\)")
          list(APPEND names ${CMAKE_MATCH_1})
        endif()
      endforeach()
      continue()
    endif()
    cmake_path(GET file STEM stem)
    # The folders of these kinds also have sources that define nothing by themselves.
    if(arg_KIND STREQUAL "graph")
      set(defines "OpDef op_${stem}[^a-z0-9_]")
    elseif(arg_KIND STREQUAL "optimizer")
      set(defines "Class ${stem}_class\\(")
    else()
      set(defines "")
    endif()
    if(defines)
      file(STRINGS "${file}" definition REGEX "${defines}" LIMIT_COUNT 1)
      if(NOT definition)
        continue()
      endif()
    endif()
    list(APPEND names ${stem})
  endforeach()
  list(SORT names)

  set(declarations "")
  set(rows "")
  foreach(name IN LISTS names)
    if(arg_KIND STREQUAL "graph")
      string(APPEND declarations "extern const OpDef op_${name};\n")
      string(APPEND rows "    &ops::op_${name},\n")
    elseif(arg_KIND STREQUAL "layer")
      string(APPEND declarations "LayerClass ${name}_class();\n")
      string(APPEND rows "      layers::${name}_class,\n")
    elseif(arg_KIND STREQUAL "optimizer")
      string(APPEND declarations "OptimizerClass ${name}_class();\n")
      string(APPEND rows "      ${name}_class,\n")
    elseif(arg_KIND STREQUAL "chlo")
      string(APPEND declarations "extern const Expand ${name}_expansion;\n")
      string(APPEND rows "      {\"${name}\", ops::${name}_expansion},\n")
    elseif(arg_KIND STREQUAL "kernel")
      string(APPEND declarations "extern const HostKernelDef ${name}_kernel;\n")
      string(APPEND rows "      &kernels::${name}_kernel,\n")
    else()
      string(APPEND declarations "extern const OpSemantics ${name}_semantics;\n")
      string(APPEND rows "    {\"${name}\", &ops::${name}_semantics},\n")
    endif()
  endforeach()
  set(SYSTOLE_DECLARATIONS "${declarations}")
  set(SYSTOLE_ROWS "${rows}")
  list(LENGTH names SYSTOLE_COUNT)
  set(generated "${PROJECT_BINARY_DIR}/generated/${arg_KIND}_op_list.cc")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${arg_KIND}_op_list.cc.in" "${generated}" @ONLY)
  set(${out} "${generated}" PARENT_SCOPE)
endfunction()

# systole_backend_list(<out variable> <backend>... [OPTIONAL <backend>...])
#
# Generates the C++ file that calls `void register_<backend>_backend()` of namespace systole::runtime for each backend, and
# for those of the OPTIONAL ones that are linked.
function(systole_backend_list out)
  cmake_parse_arguments(arg "" "" "OPTIONAL" ${ARGN})
  set(SYSTOLE_DECLARATIONS "")
  set(SYSTOLE_CALLS "")
  foreach(name IN LISTS arg_UNPARSED_ARGUMENTS)
    string(APPEND SYSTOLE_DECLARATIONS "void register_${name}_backend();\n")
    string(APPEND SYSTOLE_CALLS "  register_${name}_backend();\n")
  endforeach()
  foreach(name IN LISTS arg_OPTIONAL)
    string(APPEND SYSTOLE_DECLARATIONS "[[gnu::weak]] void register_${name}_backend();\n")
    string(APPEND SYSTOLE_CALLS "  if (register_${name}_backend != nullptr) register_${name}_backend();\n")
  endforeach()
  set(generated "${PROJECT_BINARY_DIR}/generated/register_backends.cc")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/register_backends.cc.in" "${generated}" @ONLY)
  set(${out} "${generated}" PARENT_SCOPE)
endfunction()
