// expect: success
#include "gangsched/core/id.hpp"

bool same(gangsched::node_id a, gangsched::node_id b) { return a == b; }
