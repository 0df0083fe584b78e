#pragma once
#include "gangsched/model/inside.hpp"

/// For tests that look at the tables behind a cluster, or write them: `inside(cluster)`. A host cannot.
namespace gangsched {

using detail::inside;

}  // namespace gangsched
