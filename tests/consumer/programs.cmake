# The same program against each of ${targets}, of gangsched and header_only. Included by the three consumer projects once they have the targets.
enable_testing()
foreach(target IN LISTS targets)
  add_executable(consumer-${target} ${CMAKE_CURRENT_LIST_DIR}/main.cpp)
  target_link_libraries(consumer-${target} PRIVATE gangsched::${target})
  add_test(NAME ${target} COMMAND consumer-${target})
endforeach()

# The optional component, where it is.
if(TARGET gangsched::kube)
  add_executable(consumer-kube ${CMAKE_CURRENT_LIST_DIR}/kube.cpp)
  target_link_libraries(consumer-kube PRIVATE gangsched::kube)
  add_test(NAME kube COMMAND consumer-kube)
endif()
