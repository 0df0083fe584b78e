// expect: no member named .state|.state_. is a private member|is private within this context
#include "gangsched/gangsched.hpp"

// What is written to the tables and not to the change log, schedulers never learn of: a host has no way to them.
void overcommit(gangsched::cluster& on, gangsched::node_id node) { on.state().nodes.used.set(node.row, 0, -1); }
