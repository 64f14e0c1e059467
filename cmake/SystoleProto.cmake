find_program(SYSTOLE_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)
mark_as_advanced(SYSTOLE_GRPC_PLUGIN)

# systole_proto_library(<target> FOLDER <folder> [GRPC])
#
# Compiles the *.proto of a folder into a static library, with GRPC also the stubs and services. Imports and C++ name a
# file from the root of the repository: `#include "systole/io/proto/graph.pb.h"`. Generated code compiles without
# warnings enabled. Its headers are not installed; no public header includes them.
function(systole_proto_library target)
  cmake_parse_arguments(arg "GRPC" "FOLDER" "" ${ARGN})
  file(GLOB protos CONFIGURE_DEPENDS "${arg_FOLDER}/*.proto")
  set(root "${PROJECT_BINARY_DIR}/generated/proto")
  file(MAKE_DIRECTORY "${root}")
  set(generated "")
  foreach(proto IN LISTS protos)
    cmake_path(RELATIVE_PATH proto BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE name)
    cmake_path(REPLACE_EXTENSION name LAST_ONLY pb OUTPUT_VARIABLE stem)
    set(outputs "${root}/${stem}.cc" "${root}/${stem}.h")
    add_custom_command(OUTPUT ${outputs}
      COMMAND protobuf::protoc "--cpp_out=${root}" "--proto_path=${PROJECT_SOURCE_DIR}" "${proto}"
      DEPENDS ${protos} COMMENT "protoc ${name}" VERBATIM)
    list(APPEND generated ${outputs})
    if(arg_GRPC)
      cmake_path(REPLACE_EXTENSION name LAST_ONLY grpc.pb OUTPUT_VARIABLE stem)
      set(outputs "${root}/${stem}.cc" "${root}/${stem}.h")
      add_custom_command(OUTPUT ${outputs}
        COMMAND protobuf::protoc "--grpc_out=${root}" "--plugin=protoc-gen-grpc=${SYSTOLE_GRPC_PLUGIN}"
                "--proto_path=${PROJECT_SOURCE_DIR}" "${proto}"
        DEPENDS ${protos} COMMENT "protoc ${name} (services)" VERBATIM)
      list(APPEND generated ${outputs})
    endif()
  endforeach()
  add_library(${target} STATIC ${generated})
  string(REPLACE "systole_" "" export_name "${target}")
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${export_name})
  target_compile_options(${target} PRIVATE -w -fPIC)
  target_include_directories(${target} SYSTEM PUBLIC "$<BUILD_INTERFACE:${root}>")
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf)
  set_property(GLOBAL APPEND PROPERTY SYSTOLE_LAYERS ${target})
endfunction()
