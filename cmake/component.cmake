# What every component in C++ has, over one of the library's targets: @p ARGN are its headers.
function(gangsched_component target core)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${ARGN})
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
