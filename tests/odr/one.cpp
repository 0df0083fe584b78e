// Two translation units with every public header, linked into one program: a body that is not inline where it must be is a
// link error here.
#include "all_headers.hpp"

int two();

int main() { return two(); }
