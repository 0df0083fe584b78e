# Catch2 3 where there is one, else 2.13 (Debian 12). Tests include "support/catch.hpp" and link gangsched_catch2.
find_package(Catch2 3 CONFIG QUIET)
if(NOT Catch2_FOUND)
  find_package(Catch2 2.13 CONFIG REQUIRED)
endif()
add_library(gangsched_catch2 INTERFACE)
if(TARGET Catch2::Catch2WithMain)
  target_link_libraries(gangsched_catch2 INTERFACE Catch2::Catch2WithMain)
else()
  target_link_libraries(gangsched_catch2 INTERFACE Catch2::Catch2)
endif()
# An exception ends its test case instead of its assertion only: a quarter of the time that tests take to compile.
target_compile_definitions(gangsched_catch2 INTERFACE CATCH_CONFIG_FAST_COMPILE)
include(Catch)
