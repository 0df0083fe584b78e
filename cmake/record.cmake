# gangsched::record, the optional component of decision logs: written, read and replayed. Always compiled; it needs nothing but the library.
option(GANGSCHED_BUILD_RECORD "Build gangsched::record" ON)
if(NOT GANGSCHED_BUILD_RECORD)
  return()
endif()

file(GLOB record_headers CONFIGURE_DEPENDS include/gangsched/record/*.hpp)
file(GLOB record_bodies CONFIGURE_DEPENDS src/record/*.cpp)

# The component over one of the library's targets; tests of the header-only one need it over that.
function(gangsched_add_record target core)
  add_library(${target} ${ARGN} ${record_bodies})
  gangsched_component(${target} ${core} ${record_headers})
endfunction()

gangsched_add_record(gangsched_record gangsched)
gangsched_exports(gangsched_record 6record)
add_library(gangsched::record ALIAS gangsched_record)
set_target_properties(gangsched_record PROPERTIES EXPORT_NAME record OUTPUT_NAME gangsched-record
  VERIFY_INTERFACE_HEADER_SETS ${GANGSCHED_BUILD_TESTING})
