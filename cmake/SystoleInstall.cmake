# `cmake --install` installs the libraries, headers and the command line for find_package(systole) and pkg-config. `cpack`
# makes two Debian packages of the same files: `systole`, the programs, and `libsystole-dev`, the libraries.
include(CMakePackageConfigHelpers)

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
get_property(layers GLOBAL PROPERTY SYSTOLE_LAYERS)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/systole")

# -- The libraries.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)
install(TARGETS systole ${layers} EXPORT systoleTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT systoleTargets NAMESPACE systole:: DESTINATION "${package_dir}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/systole" "${PROJECT_BINARY_DIR}/generated/include/systole" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "testing" EXCLUDE)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/systoleConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/systoleConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/systoleConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/systoleConfig.cmake"
              "${PROJECT_BINARY_DIR}/systoleConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/SystoleDependencies.cmake"
        DESTINATION "${package_dir}")

# pkg-config gives no order to the archives: they are one group.
set(archives "")
set(link_options "")
foreach(layer IN LISTS layers)
  get_target_property(type ${layer} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    string(APPEND archives " -l${layer}")
  endif()
  get_target_property(options ${layer} INTERFACE_LINK_OPTIONS)
  if(options)
    list(JOIN options " " options)
    string(APPEND link_options " ${options}")
  endif()
endforeach()
string(REPLACE "LINKER:" "-Wl," link_options "${link_options}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/systole.pc.in" "${PROJECT_BINARY_DIR}/systole.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/systole.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# -- The programs.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME tools)
if(TARGET systole_app)
  install(TARGETS systole_app RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  foreach(folder man bash-completion zsh fish)
    install(DIRECTORY "${PROJECT_BINARY_DIR}/share/${folder}"
            DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}")
  endforeach()
endif()
if(TARGET systole_pjrt)
  install(TARGETS systole_pjrt LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET systole_mpi)
  install(TARGETS systole_mpi LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()

# -- The Python package (pyproject.toml): the plugin, the command and the module, and LAPACK, which the plugin loads by its name.
if(TARGET systole_pjrt AND TARGET systole_app)
  install(TARGETS systole_pjrt LIBRARY DESTINATION lib COMPONENT wheel EXCLUDE_FROM_ALL)
  install(TARGETS systole_app RUNTIME DESTINATION bin COMPONENT wheel EXCLUDE_FROM_ALL)
  if(TARGET systole_python)
    install(TARGETS systole_python LIBRARY DESTINATION . COMPONENT wheel EXCLUDE_FROM_ALL)
    install(DIRECTORY "${PROJECT_BINARY_DIR}/stubs/tensorflow" DESTINATION . COMPONENT wheel EXCLUDE_FROM_ALL)
  endif()
  find_library(SYSTOLE_LAPACKE NAMES liblapacke.so.3)
  mark_as_advanced(SYSTOLE_LAPACKE)
  if(SYSTOLE_LAPACKE)
    file(REAL_PATH "${SYSTOLE_LAPACKE}" lapacke)
    install(FILES "${lapacke}" RENAME liblapacke.so.3 DESTINATION lib COMPONENT wheel EXCLUDE_FROM_ALL)
  endif()
endif()

# -- Debian packages. Shared libraries become dependencies by themselves; headers need their -dev packages, which are those
# of the build.
execute_process(COMMAND "${PROJECT_SOURCE_DIR}/tools/install-deps.sh" --list build
                OUTPUT_VARIABLE build_packages OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REPLACE "\n" ";" build_packages "${build_packages}")
list(FILTER build_packages INCLUDE REGEX "-dev$")
list(FILTER build_packages EXCLUDE REGEX "^lib(gtest|gmock|benchmark|cli11|curl4-openssl)-dev$")
list(JOIN build_packages ", " dev_depends)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The Systole authors <systole@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL tools dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME systole)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "libcurl4, ca-certificates, bash-completion")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "openmpi-bin, liblapacke")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libsystole-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${dev_depends}")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "systole, libcurl4")
include(CPack)
