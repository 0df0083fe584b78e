include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gangsched)

install(TARGETS gangsched gangsched_header_only EXPORT gangsched-targets
  RUNTIME COMPONENT gangsched-runtime
  LIBRARY COMPONENT gangsched-runtime NAMELINK_COMPONENT gangsched-development
  ARCHIVE COMPONENT gangsched-development
  FILE_SET HEADERS COMPONENT gangsched-development)
install(DIRECTORY src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gangsched/src COMPONENT gangsched-development
  FILES_MATCHING PATTERN "*.[ch]pp" PATTERN "kube" EXCLUDE PATTERN "report" EXCLUDE PATTERN "c" EXCLUDE)
install(EXPORT gangsched-targets NAMESPACE gangsched:: DESTINATION ${config_dir} COMPONENT gangsched-development)

if(GANGSCHED_BUILD_KUBE)
  install(TARGETS gangsched_kube EXPORT gangsched-kube-targets
    RUNTIME COMPONENT gangsched-runtime
    LIBRARY COMPONENT gangsched-runtime NAMELINK_COMPONENT gangsched-development
    ARCHIVE COMPONENT gangsched-development
    FILE_SET HEADERS COMPONENT gangsched-development)
  install(EXPORT gangsched-kube-targets NAMESPACE gangsched:: DESTINATION ${config_dir} COMPONENT gangsched-development)
endif()

if(GANGSCHED_BUILD_REPORT)
  install(TARGETS gangsched_report EXPORT gangsched-report-targets
    RUNTIME COMPONENT gangsched-runtime
    LIBRARY COMPONENT gangsched-runtime NAMELINK_COMPONENT gangsched-development
    ARCHIVE COMPONENT gangsched-development
    FILE_SET HEADERS COMPONENT gangsched-development)
  install(EXPORT gangsched-report-targets NAMESPACE gangsched:: DESTINATION ${config_dir} COMPONENT gangsched-development)
endif()

if(GANGSCHED_BUILD_C)
  install(TARGETS gangsched_c EXPORT gangsched-c-targets
    RUNTIME COMPONENT gangsched-runtime
    LIBRARY COMPONENT gangsched-runtime NAMELINK_COMPONENT gangsched-development
    ARCHIVE COMPONENT gangsched-development
    FILE_SET HEADERS COMPONENT gangsched-development)
  install(EXPORT gangsched-c-targets NAMESPACE gangsched:: DESTINATION ${config_dir} COMPONENT gangsched-development)
endif()

get_target_property(config_library_type gangsched TYPE)
configure_package_config_file(cmake/gangsched-config.cmake.in gangsched-config.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(gangsched-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gangsched-config.cmake ${PROJECT_BINARY_DIR}/gangsched-config-version.cmake
  DESTINATION ${config_dir} COMPONENT gangsched-development)

file(RELATIVE_PATH pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /.)
string(REGEX REPLACE "/$" "" pc_up "${pc_up}")
set(pc_definitions $<$<STREQUAL:${library_type},SHARED_LIBRARY>:-DGANGSCHED_SHARED>)
configure_file(cmake/gangsched.pc.in gangsched.pc.gen @ONLY)
file(GENERATE OUTPUT gangsched.pc INPUT ${PROJECT_BINARY_DIR}/gangsched.pc.gen)
install(FILES ${PROJECT_BINARY_DIR}/gangsched.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT gangsched-development)
if(GANGSCHED_BUILD_KUBE)
  configure_file(cmake/gangsched-kube.pc.in gangsched-kube.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/gangsched-kube.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT gangsched-development)
endif()
if(GANGSCHED_BUILD_REPORT)
  configure_file(cmake/gangsched-report.pc.in gangsched-report.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/gangsched-report.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT gangsched-development)
endif()
if(GANGSCHED_BUILD_C)
  configure_file(cmake/gangsched-c.pc.in gangsched-c.pc.gen @ONLY)
  file(GENERATE OUTPUT gangsched-c.pc INPUT ${PROJECT_BINARY_DIR}/gangsched-c.pc.gen)
  install(FILES ${PROJECT_BINARY_DIR}/gangsched-c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT gangsched-development)
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT gangsched-development)
