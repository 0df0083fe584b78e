// expect: success
#pragma GCC diagnostic error "-Wpedantic"
#include "gangsched/gangsched.hpp"
#include "gangsched/plugins.hpp"

// Public headers are standard C++, to a compiler that is asked to mind: what is not says __extension__.
using gangsched::scheduler;
