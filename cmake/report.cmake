# gangsched::report, the optional component of ready-made observers: metrics, events, a trace. Always compiled; it needs nothing but the library.
option(GANGSCHED_BUILD_REPORT "Build gangsched::report" ON)
if(NOT GANGSCHED_BUILD_REPORT)
  return()
endif()

file(GLOB report_headers CONFIGURE_DEPENDS include/gangsched/report/*.hpp)
file(GLOB report_bodies CONFIGURE_DEPENDS src/report/*.cpp)

# The component over one of the library's targets; tests of the header-only one need it over that.
function(gangsched_add_report target core)
  add_library(${target} ${ARGN} ${report_bodies})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${report_headers})
  target_include_directories(${target} PRIVATE ${body_root})
  target_link_libraries(${target} PUBLIC ${core})
  gangsched_warnings(${target})
  set_target_properties(${target} PROPERTIES
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    VERSION ${PROJECT_VERSION})
endfunction()

gangsched_add_report(gangsched_report gangsched)
gangsched_exports(gangsched_report 6report)
add_library(gangsched::report ALIAS gangsched_report)
set_target_properties(gangsched_report PROPERTIES EXPORT_NAME report OUTPUT_NAME gangsched-report
  VERIFY_INTERFACE_HEADER_SETS ${GANGSCHED_BUILD_TESTING})
