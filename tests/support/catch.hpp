#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>  // 3
#else
#include <catch2/catch.hpp>  // 2
#endif
