// expect: gangsched: a profile has exactly one plugin with point::queue_sort
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/node_name.hpp"

gangsched::profile made{gangsched::node_name{}};
