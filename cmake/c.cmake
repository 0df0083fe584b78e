# gangsched::c, the library for C and for all that speaks C: over the components kube, report and record, and always compiled like them. Of a
# shared one only the names that begin with gangsched_ leave the file.
set(c_possible OFF)
if(GANGSCHED_BUILD_KUBE AND GANGSCHED_BUILD_REPORT AND GANGSCHED_BUILD_RECORD)
  set(c_possible ON)
endif()
option(GANGSCHED_BUILD_C "Build gangsched::c (needs gangsched::kube, gangsched::report and gangsched::record)" ${c_possible})
if(NOT GANGSCHED_BUILD_C)
  return()
endif()
if(NOT c_possible)
  message(FATAL_ERROR "GANGSCHED_BUILD_C needs GANGSCHED_BUILD_KUBE, GANGSCHED_BUILD_REPORT and GANGSCHED_BUILD_RECORD")
endif()

file(GLOB c_headers CONFIGURE_DEPENDS include/gangsched/c/*.h)
file(GLOB c_bodies CONFIGURE_DEPENDS src/c/*.cpp)
add_library(gangsched_c ${c_bodies})
add_library(gangsched::c ALIAS gangsched_c)
target_sources(gangsched_c PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${c_headers})
target_include_directories(gangsched_c PRIVATE ${body_root})
target_link_libraries(gangsched_c PRIVATE gangsched_kube gangsched_report gangsched_record)
if(library_type STREQUAL SHARED_LIBRARY)
  target_compile_definitions(gangsched_c PUBLIC GANGSCHED_SHARED)
  target_link_options(gangsched_c PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/c.map)
  set_target_properties(gangsched_c PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/c.map)
endif()
gangsched_warnings(gangsched_c)
set_target_properties(gangsched_c PROPERTIES
  EXPORT_NAME c
  OUTPUT_NAME gangsched-c
  CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON
  POSITION_INDEPENDENT_CODE ON
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  VERSION ${PROJECT_VERSION}
  VERIFY_INTERFACE_HEADER_SETS ${GANGSCHED_BUILD_TESTING})

# A program in C11, with all warnings. It is linked as C++ where the library is static.
function(gangsched_add_c_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE gangsched::c)
  set_target_properties(${name} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF UNITY_BUILD OFF)
  target_compile_options(${name} PRIVATE
    -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -pedantic $<$<BOOL:${GANGSCHED_WERROR}>:-Werror>)
endfunction()
