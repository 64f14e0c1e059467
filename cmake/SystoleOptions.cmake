# Language, warnings, sanitizers, and tools that speed up a build. CMakePresets.json sets the options.

option(SYSTOLE_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(SYSTOLE_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(SYSTOLE_WERROR "Treat warnings as errors" OFF)
option(SYSTOLE_UNITY "Compile several files of a target as one, where it allows that: less than half the build time" ON)
option(SYSTOLE_FUZZ "Build the fuzz targets with libFuzzer (needs clang)" OFF)
set(SYSTOLE_PYTHON_MODULE OFF CACHE STRING "The extension module of the Python package: ON, OFF, or AUTO, where build/clients/python has Python's headers and nanobind")
set(SYSTOLE_SANITIZE "" CACHE STRING "Sanitizers: empty, 'address,undefined' or 'thread'")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_COLOR_DIAGNOSTICS OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -fno-omit-frame-pointer")  # sanitizers: asserts stay on

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

# Flags of all our targets. Not exported to users of the install tree.
add_library(systole_flags INTERFACE)
target_compile_options(systole_flags INTERFACE -Wall -Wextra -Winvalid-pch)
# Position-independent code: the PJRT plugin and the module of the Python package contain our static libraries. Calls within a library stay direct.
target_compile_options(systole_flags INTERFACE -fPIC $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
# Options are passed by designated initialisers; omitted fields keep their defaults.
target_compile_options(systole_flags INTERFACE -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives of g++ 12 inside absl::InlinedVector and std::string after inlining.
  target_compile_options(systole_flags INTERFACE -Wno-maybe-uninitialized -Wno-uninitialized
                                                 -Wno-restrict -Wno-stringop-overflow)
  # g++ 13 and later take a reference that comes from a handle (a Value, an Output) for one into
  # the handle; it is into what the handle points to. g++ 12 ignores the name.
  target_compile_options(systole_flags INTERFACE -Wno-dangling-reference)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # 512 MB: no file needs more, so the compiler never collects garbage. That saves a tenth of its time.
  add_compile_options("SHELL:--param ggc-min-heapsize=524288")
endif()
if(SYSTOLE_WERROR)
  target_compile_options(systole_flags INTERFACE -Werror)
endif()
if(SYSTOLE_SANITIZE)
  add_compile_options(-fsanitize=${SYSTOLE_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SYSTOLE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-array-bounds)  # g++ warns about code that the sanitizers add
  endif()
  if(SYSTOLE_SANITIZE MATCHES "thread")
    # Where the compiler's macro is defined, protobuf's headers give maps two more fields, which Debian's library does not
    # have. libstdc++ derives its own macro from it.
    add_compile_options(-U__SANITIZE_THREAD__ -D_GLIBCXX_TSAN=1)
    add_compile_definitions(SYSTOLE_SANITIZE_THREAD)
  endif()
  # The address sanitizer reports these too. Without them the build takes a third less time.
  if(SYSTOLE_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=null,vptr,object-size)
  endif()
endif()
if(SYSTOLE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)
  # clang 14 has no std::source_location; this folder holds a stand-in built on __builtin_LINE().
  add_compile_options(-isystem ${PROJECT_SOURCE_DIR}/tools/clang14)
endif()

find_program(SYSTOLE_CCACHE ccache)
if(SYSTOLE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache needs this to cache precompiled headers. Nothing looser: it could cache a header that changes during a build.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      ${SYSTOLE_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()

# The fastest linker that is installed. The default of binutils takes ten times as long as its gold.
include(CheckLinkerFlag)
foreach(linker mold gold)
  check_linker_flag(CXX -fuse-ld=${linker} SYSTOLE_LINKS_WITH_${linker})
  if(SYSTOLE_LINKS_WITH_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()
