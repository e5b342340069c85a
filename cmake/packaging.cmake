# Install rules: the program, the runtime library, the hook headers, and the
# analysis libraries, for find_package(countrace) or pkg-config.
#
# Separate export sets, so that a program that only has hooks needs neither
# Abseil nor LTTng.
include(CMakePackageConfigHelpers)

set(countrace_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/countrace)
# Headers of the analysis API keep their "logformat/x.h" spelling below this
# folder.
set(countrace_module_headers ${CMAKE_INSTALL_INCLUDEDIR}/countrace/modules)

# countrace_build_flags is empty outside this build; the static libraries name it.
install(TARGETS
  countrace_hooks countrace_runtime countrace_runtime_static
  countrace_build_flags
  EXPORT countrace-hooks-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# For modules: no target of this build.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/hooks/kernel/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/countrace/kernel
  FILES_MATCHING PATTERN "*.h")
install(EXPORT countrace-hooks-targets
  NAMESPACE countrace:: DESTINATION ${countrace_cmake_dir})

# A separate export set and component: the one library that needs LTTng.
if(TARGET countrace_lttng)
  install(TARGETS countrace_lttng EXPORT countrace-lttng-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT lttng NAMELINK_COMPONENT lttng)
  install(EXPORT countrace-lttng-targets
    NAMESPACE countrace:: DESTINATION ${countrace_cmake_dir} COMPONENT lttng)
endif()

# The analysis API: each library lists its headers.
install(TARGETS countrace_base countrace_logformat countrace_rmap
  EXPORT countrace-analysis-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET api DESTINATION ${countrace_module_headers}
  FILE_SET api_support DESTINATION ${countrace_module_headers})
install(EXPORT countrace-analysis-targets
  NAMESPACE countrace:: DESTINATION ${countrace_cmake_dir})

# Examples to read and copy; the program has them compiled in.
install(FILES ${PROJECT_SOURCE_DIR}/rmap/metrics/default_metrics.toml
  ${PROJECT_SOURCE_DIR}/packaging/countrace-flight.service
  DESTINATION ${CMAKE_INSTALL_DATADIR}/countrace)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/logformat/vocabularies
  DESTINATION ${CMAKE_INSTALL_DATADIR}/countrace
  FILES_MATCHING PATTERN *.toml)

install(TARGETS countrace RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Not for users: base/jail/inner_program.cc finds it.
install(TARGETS countrace-import countrace-code
  RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/countrace)
if(TARGET countrace-load)
  install(TARGETS countrace-load
    RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/countrace)
endif()
# The folder in which babeltrace2 searches, below our prefix; its pkg-config
# file may name it.
if(TARGET countrace_babeltrace_plugin)
  pkg_get_variable(countrace_babeltrace_prefix babeltrace2 prefix)
  pkg_get_variable(countrace_babeltrace_plugins babeltrace2 pluginsdir)
  if(NOT countrace_babeltrace_plugins)
    pkg_get_variable(countrace_babeltrace_libdir babeltrace2 libdir)
    set(countrace_babeltrace_plugins
      ${countrace_babeltrace_libdir}/babeltrace2/plugins)
  endif()
  cmake_path(IS_PREFIX countrace_babeltrace_prefix
    "${countrace_babeltrace_plugins}" NORMALIZE countrace_below_prefix)
  if(countrace_babeltrace_prefix AND countrace_below_prefix)
    file(RELATIVE_PATH countrace_babeltrace_plugins
      ${countrace_babeltrace_prefix} ${countrace_babeltrace_plugins})
  else()
    set(countrace_babeltrace_plugins
      ${CMAKE_INSTALL_LIBDIR}/babeltrace2/plugins)
  endif()
  install(TARGETS countrace_babeltrace_plugin
    LIBRARY DESTINATION ${countrace_babeltrace_plugins} COMPONENT babeltrace)
endif()
foreach(section IN ITEMS 1 5)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/cli/man/
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section}
    FILES_MATCHING PATTERN "*.${section}")
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/cli/completion/countrace.bash
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME countrace)
install(FILES ${PROJECT_SOURCE_DIR}/cli/completion/_countrace
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PROJECT_SOURCE_DIR}/cli/completion/countrace.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

set_target_properties(countrace_build_flags PROPERTIES EXPORT_NAME build_flags)
set_target_properties(countrace_base PROPERTIES EXPORT_NAME base)
set_target_properties(countrace_logformat PROPERTIES EXPORT_NAME logformat)
set_target_properties(countrace_rmap PROPERTIES EXPORT_NAME rmap)

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/countrace-config.cmake.in
  ${PROJECT_BINARY_DIR}/countrace-config.cmake
  INSTALL_DESTINATION ${countrace_cmake_dir}
  NO_SET_AND_CHECK_MACRO)
# 0.x: every minor version may change the interface.
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/countrace-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/countrace-config.cmake
  ${PROJECT_BINARY_DIR}/countrace-config-version.cmake
  DESTINATION ${countrace_cmake_dir})

# Relative, so that an installation can be moved.
file(RELATIVE_PATH countrace_prefix_from_pc
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(countrace_pc_files countrace countrace-runtime)
if(TARGET countrace_lttng)
  list(APPEND countrace_pc_files countrace-lttng)
endif()
foreach(pc IN LISTS countrace_pc_files)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${pc}.pc.in
    ${PROJECT_BINARY_DIR}/${pc}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${pc}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
