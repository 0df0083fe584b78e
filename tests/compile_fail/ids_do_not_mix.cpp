// expect: no match for .operator==.|invalid operands to binary expression
#include "gangsched/core/id.hpp"

bool same(gangsched::node_id a, gangsched::pod_id b) { return a == b; }
