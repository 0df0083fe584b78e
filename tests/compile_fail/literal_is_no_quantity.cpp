// expect: this_literal_is_not_a_quantity
#include "gangsched/core/quantity.hpp"

using namespace gangsched::literals;
const gangsched::quantity amount = "64Gb"_q;
