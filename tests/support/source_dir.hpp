#pragma once
#include <string>

namespace gangsched::testing {

/// The folder of the project, for tests that read the tree. Only one small file is compiled with it: all others are the same to a compiler
/// cache wherever the tree stands.
std::string source_dir();

}  // namespace gangsched::testing
