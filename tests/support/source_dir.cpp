#include "support/source_dir.hpp"

namespace gangsched::testing {

std::string source_dir() { return GANGSCHED_SOURCE_DIR; }

}  // namespace gangsched::testing
