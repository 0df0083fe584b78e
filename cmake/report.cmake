# gangsched::report, the optional component of ready-made observers: metrics, events, a trace. Always compiled; it needs nothing but the
# library.
option(GANGSCHED_BUILD_REPORT "Build gangsched::report" ON)
if(NOT GANGSCHED_BUILD_REPORT)
  return()
endif()

file(GLOB report_headers CONFIGURE_DEPENDS include/gangsched/report/*.hpp)
file(GLOB report_bodies CONFIGURE_DEPENDS src/report/*.cpp)

# The component over one of the library's targets; tests of the header-only one need it over that.
function(gangsched_add_report target core)
  add_library(${target} ${ARGN} ${report_bodies})
  gangsched_component(${target} ${core} ${report_headers})
endfunction()

gangsched_add_report(gangsched_report gangsched)
gangsched_exports(gangsched_report 6report)
add_library(gangsched::report ALIAS gangsched_report)
set_target_properties(gangsched_report PROPERTIES EXPORT_NAME report OUTPUT_NAME gangsched-report
  VERIFY_INTERFACE_HEADER_SETS ${GANGSCHED_BUILD_TESTING})
