# Runs the overlay port as vcpkg would, without vcpkg: of what the port calls there are stand-ins here, which do what can be done without its
# network. The port's options are given to CMake, which must know them; what it installs is taken from a build of this tree that is there
# already; config files and pkg-config files are where the port says, and its usage names targets that there are.
# Not seen: that packages of vcpkg's registry go together, and a build with them.
#   usage: cmake -DROOT=TREE -DBUILT=ITS_BUILD -DGENERATOR=ITS_GENERATOR -DSCRATCH=FOLDER -P vcpkg_port.cmake
cmake_minimum_required(VERSION 3.23)

function(claim what)
  if(NOT (${ARGN}))
    message(SEND_ERROR "the port: ${what}")
  endif()
endfunction()

file(REMOVE_RECURSE "${SCRATCH}")
set(PORT gangsched)
set(CURRENT_PORT_DIR "${ROOT}/packaging/vcpkg")
set(CURRENT_PACKAGES_DIR "${SCRATCH}/packages")
set(CMAKE_CURRENT_LIST_DIR "${CURRENT_PORT_DIR}")
file(READ "${CURRENT_PORT_DIR}/vcpkg.json" manifest)
string(JSON name GET "${manifest}" name)
claim("its manifest is named ${name}" name STREQUAL PORT)
file(READ "${ROOT}/vcpkg.json" of_tree)
claim("its manifest is not that of the tree" manifest STREQUAL of_tree)

function(vcpkg_check_linkage)
endfunction()

# All features are asked for. Those that are not in the manifest could not be.
function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 asked "" "OUT_FEATURE_OPTIONS" "FEATURES")
  set(options "")
  while(asked_FEATURES)
    list(POP_FRONT asked_FEATURES feature option)
    string(JSON said ERROR_VARIABLE missing GET "${manifest}" features ${feature} description)
    claim("the feature ${feature} is not in its manifest" missing STREQUAL "NOTFOUND")
    list(APPEND options -D${option}=ON)
  endwhile()
  set(${asked_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 asked "" "SOURCE_PATH" "OPTIONS")
  execute_process(
    COMMAND ${CMAKE_COMMAND} -G "${GENERATOR}" -S ${asked_SOURCE_PATH} -B ${SCRATCH}/configured ${asked_OPTIONS} --warn-uninitialized
    RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
  claim("CMake does not take its options: ${said}" result EQUAL 0)
  string(FIND "${said}" "not used by the project" unused)
  claim("CMake does not know all of its options: ${said}" unused EQUAL -1)
  file(STRINGS ${SCRATCH}/configured/CMakeCache.txt on REGEX "^GANGSCHED_BUILD_(KUBE|C|REPORT|RECORD):BOOL=ON$")
  list(LENGTH on components)
  claim("not all components are built with all features" components EQUAL 4)
endfunction()

function(vcpkg_cmake_install)
  foreach(folder IN ITEMS "" /debug)
    execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILT} --prefix ${CURRENT_PACKAGES_DIR}${folder}
      RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE said)
    claim("nothing is installed: ${said}" result EQUAL 0)
  endforeach()
endfunction()

function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 asked "" "CONFIG_PATH" "")
  foreach(folder IN ITEMS "" /debug)
    claim("there are no config files in ${asked_CONFIG_PATH}"
      EXISTS "${CURRENT_PACKAGES_DIR}${folder}/${asked_CONFIG_PATH}/gangsched-config.cmake")
    file(MAKE_DIRECTORY "${CURRENT_PACKAGES_DIR}${folder}/share")
    file(RENAME "${CURRENT_PACKAGES_DIR}${folder}/${asked_CONFIG_PATH}" "${CURRENT_PACKAGES_DIR}${folder}/share/${PORT}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
  foreach(part IN ITEMS gangsched gangsched-report gangsched-record gangsched-kube gangsched-c)
    claim("there is no ${part}.pc" EXISTS "${CURRENT_PACKAGES_DIR}/lib/pkgconfig/${part}.pc")
  endforeach()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 asked "" "" "FILE_LIST")
  foreach(one IN LISTS asked_FILE_LIST)
    claim("there is no ${one}" EXISTS "${one}")
  endforeach()
endfunction()

include("${CURRENT_PORT_DIR}/portfile.cmake")

# What vcpkg looks at itself when a port is done.
foreach(folder IN ITEMS debug/include debug/share)
  claim("leaves ${folder}" NOT EXISTS "${CURRENT_PACKAGES_DIR}/${folder}")
endforeach()
claim("installs no headers" EXISTS "${CURRENT_PACKAGES_DIR}/include/gangsched/gangsched.hpp")
file(READ "${CURRENT_PACKAGES_DIR}/share/${PORT}/usage" usage)
file(GLOB exported "${CURRENT_PACKAGES_DIR}/share/${PORT}/*targets*.cmake" "${CURRENT_PACKAGES_DIR}/share/${PORT}/*.cmake")
set(text "")
foreach(one IN LISTS exported)
  file(READ "${one}" part)
  string(APPEND text "${part}")
endforeach()
string(REGEX MATCHALL "PRIVATE gangsched::[a-z_]+" targets "${usage}")
list(LENGTH targets count)
claim("its usage names ${count} targets" count EQUAL 6)
foreach(target IN LISTS targets)
  string(REPLACE "PRIVATE " "" target "${target}")
  string(FIND "${text}" "add_library(${target} " found)
  claim("its usage names ${target}, which is not exported" found GREATER -1)
endforeach()
