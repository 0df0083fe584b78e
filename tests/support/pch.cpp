// CMake precompiles catch.hpp only for a target with a source that uses it; every test program borrows the result.
