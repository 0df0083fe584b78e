// For a Catch2 that brings no main: early releases of 2.13.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
