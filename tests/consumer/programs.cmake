# The same program against each of ${targets}, of gangsched and header_only, or ${program_of_header_only} against the latter, where another
# project compiles the whole library in headers already. Included by the three consumer projects once they have the targets.
enable_testing()
foreach(target IN LISTS targets)
  set(program main.cpp)
  if(target STREQUAL "header_only" AND program_of_header_only)
    set(program ${program_of_header_only})
  endif()
  add_executable(consumer-${target} ${CMAKE_CURRENT_LIST_DIR}/${program})
  target_link_libraries(consumer-${target} PRIVATE gangsched::${target})
  add_test(NAME ${target} COMMAND consumer-${target})
endforeach()

# The optional component, where it is.
if(TARGET gangsched::kube)
  add_executable(consumer-kube ${CMAKE_CURRENT_LIST_DIR}/kube.cpp)
  target_link_libraries(consumer-kube PRIVATE gangsched::kube)
  add_test(NAME kube COMMAND consumer-kube)
endif()
