#include "all_headers.hpp"

int two();

int two() {
  return gangsched::error{gangsched::errc::unknown, "pod a/b", "node", ""}.message() == "pod a/b: node: unknown" ? 0
                                                                                                                 : 1;
}
