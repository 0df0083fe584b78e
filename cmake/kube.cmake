# gangsched::kube, the optional component that reads Kubernetes' manifests and configuration. It is always compiled: JSON and
# YAML stay out of the headers.
find_package(nlohmann_json 3.9 CONFIG QUIET)
find_package(yaml-cpp 0.6 CONFIG QUIET)
set(kube_found OFF)
if(TARGET nlohmann_json::nlohmann_json AND (TARGET yaml-cpp::yaml-cpp OR TARGET yaml-cpp))
  set(kube_found ON)
endif()
option(GANGSCHED_BUILD_KUBE "Build gangsched::kube (needs nlohmann-json and yaml-cpp)" ${kube_found})
if(NOT GANGSCHED_BUILD_KUBE)
  return()
endif()
if(NOT kube_found)
  message(FATAL_ERROR "GANGSCHED_BUILD_KUBE needs nlohmann-json and yaml-cpp (Debian: nlohmann-json3-dev, libyaml-cpp-dev)")
endif()
set(yaml_cpp yaml-cpp::yaml-cpp)  # its name since 0.8
if(NOT TARGET yaml-cpp::yaml-cpp)
  set(yaml_cpp yaml-cpp)
endif()

file(GLOB kube_headers CONFIGURE_DEPENDS include/gangsched/kube/*.hpp)
file(GLOB_RECURSE kube_bodies CONFIGURE_DEPENDS src/kube/*.cpp)

# The component over one of the library's targets; tests of the header-only one need it over that.
function(gangsched_add_kube target core)
  add_library(${target} ${ARGN} ${kube_bodies})
  gangsched_component(${target} ${core} ${kube_headers})
  target_link_libraries(${target} PRIVATE fmt::fmt absl::time $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> ${yaml_cpp})
endfunction()

gangsched_add_kube(gangsched_kube gangsched)
gangsched_exports(gangsched_kube 4kube)
add_library(gangsched::kube ALIAS gangsched_kube)
set_target_properties(gangsched_kube PROPERTIES EXPORT_NAME kube OUTPUT_NAME gangsched-kube
  VERIFY_INTERFACE_HEADER_SETS ${GANGSCHED_BUILD_TESTING})
