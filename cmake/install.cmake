include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gangsched)

# The targets ARGN with what consumers of them include, as export file gangsched@p suffix-targets.cmake.
function(gangsched_install_targets suffix)
  install(TARGETS ${ARGN} EXPORT gangsched${suffix}-targets
    RUNTIME COMPONENT gangsched-runtime
    LIBRARY COMPONENT gangsched-runtime NAMELINK_COMPONENT gangsched-development
    ARCHIVE COMPONENT gangsched-development
    FILE_SET HEADERS COMPONENT gangsched-development)
  install(EXPORT gangsched${suffix}-targets NAMESPACE gangsched:: DESTINATION ${config_dir} COMPONENT gangsched-development)
endfunction()

# pkg-config's file of gangsched@p suffix; generator expressions in it are what @p pc_definitions holds.
function(gangsched_install_pc suffix)
  configure_file(cmake/gangsched${suffix}.pc.in gangsched${suffix}.pc.gen @ONLY)
  file(GENERATE OUTPUT gangsched${suffix}.pc INPUT ${PROJECT_BINARY_DIR}/gangsched${suffix}.pc.gen)
  install(FILES ${PROJECT_BINARY_DIR}/gangsched${suffix}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT gangsched-development)
endfunction()

file(RELATIVE_PATH pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /.)
string(REGEX REPLACE "/$" "" pc_up "${pc_up}")
set(pc_definitions $<$<STREQUAL:${library_type},SHARED_LIBRARY>:-DGANGSCHED_SHARED>)

gangsched_install_targets("" gangsched gangsched_header_only)
gangsched_install_pc("")
install(DIRECTORY src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gangsched/src COMPONENT gangsched-development
  FILES_MATCHING PATTERN "*.[ch]pp" PATTERN "kube" EXCLUDE PATTERN "report" EXCLUDE PATTERN "record" EXCLUDE PATTERN "c" EXCLUDE)
foreach(component kube report record c)
  string(TOUPPER ${component} upper)
  if(GANGSCHED_BUILD_${upper})
    gangsched_install_targets(-${component} gangsched_${component})
    gangsched_install_pc(-${component})
  endif()
endforeach()

get_target_property(config_library_type gangsched TYPE)
configure_package_config_file(cmake/gangsched-config.cmake.in gangsched-config.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(gangsched-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gangsched-config.cmake ${PROJECT_BINARY_DIR}/gangsched-config-version.cmake
  DESTINATION ${config_dir} COMPONENT gangsched-development)

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT gangsched-development)
