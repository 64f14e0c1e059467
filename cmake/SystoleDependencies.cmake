# Finds every library that Systole links. It is installed with the package and finds them again for programs that are
# built against an install tree.

include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED CONFIG)
find_package(spdlog REQUIRED CONFIG)
find_package(absl REQUIRED CONFIG)
find_package(nlohmann_json REQUIRED CONFIG)
find_package(Protobuf REQUIRED MODULE)
find_package(leveldb REQUIRED CONFIG)
find_package(Snappy REQUIRED CONFIG)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(LibArchive REQUIRED)
find_package(yaml-cpp REQUIRED CONFIG)
find_package(pugixml REQUIRED CONFIG)

# systole_find_library(<name> HEADER <file> LIBRARY <name>... [PREFIX <folder>])
#
# Makes the target systole::<name> of a library without a usable CMake package.
function(systole_find_library name)
  cmake_parse_arguments(arg "" "HEADER;PREFIX" "LIBRARY" ${ARGN})
  if(TARGET systole::${name})
    return()
  endif()
  string(TOUPPER "SYSTOLE_${name}" var)
  find_path(${var}_INCLUDE ${arg_HEADER} HINTS ${arg_PREFIX}/include REQUIRED)
  find_library(${var}_LIBRARY NAMES ${arg_LIBRARY} HINTS ${arg_PREFIX}/lib REQUIRED)
  mark_as_advanced(${var}_INCLUDE ${var}_LIBRARY)
  add_library(systole::${name} INTERFACE IMPORTED GLOBAL)
  set_target_properties(systole::${name} PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${${var}_INCLUDE}"
    INTERFACE_LINK_LIBRARIES "${${var}_LIBRARY}")
endfunction()

# oneDNN: matmul, convolution and pooling of the CPU backend. Its own package file requires OpenCL headers, which we do
# not use. Debian's build uses OpenMP (libgomp).
systole_find_library(dnnl HEADER dnnl.hpp LIBRARY dnnl)
# LLVM 19 as one shared library: the JIT of the CPU backend. Its own package file requires eight libraries that we do not use.
systole_find_library(llvm HEADER llvm/ExecutionEngine/Orc/LLJIT.h LIBRARY LLVM-19 PREFIX /usr/lib/llvm-19)
# SLEEF: vector math within 1 ULP for the fused loops of the CPU backend. It has no package file.
systole_find_library(sleef HEADER sleef.h LIBRARY sleef)
# HDF5: Keras's files are written with it. Debian installs the serial library in a folder of its own.
systole_find_library(hdf5 HEADER hdf5/serial/hdf5.h LIBRARY hdf5_serial hdf5)
# RE2: regular expressions in linear time, with the syntax of TensorFlow's string ops.
systole_find_library(re2 HEADER re2/re2.h LIBRARY re2)
# FarmHash: the hash with which TensorFlow puts strings into buckets.
systole_find_library(farmhash HEADER farmhash.h LIBRARY farmhash)
# cpp-httplib: the HTTP server of `systole board`. Its package file requires OpenSSL, which a server on this machine does not use.
systole_find_library(httplib HEADER httplib.h LIBRARY cpp-httplib)
# Macros change the layout of its classes: these are those of Debian's library.
set_property(TARGET systole::httplib PROPERTY INTERFACE_COMPILE_DEFINITIONS
             CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT CPPHTTPLIB_BROTLI_SUPPORT)
# gRPC: the worker and its clients. Its own package file lists a hundred targets.
systole_find_library(grpc HEADER grpcpp/grpcpp.h LIBRARY grpc++)
systole_find_library(grpc_core HEADER grpc/grpc.h LIBRARY grpc)
systole_find_library(gpr HEADER grpc/support/time.h LIBRARY gpr)
