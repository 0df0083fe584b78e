// Every public header, in a program that is linked from this object twice: a body that is not inline where it must be is a link error then.
#include "all_headers.hpp"

// Compiled with -Wpedantic, too.
int main() {
  return gangsched::error{gangsched::errc::unknown, "pod a/b", "node", ""}.message() == "pod a/b: node: unknown" ? 0
                                                                                                                 : 1;
}
