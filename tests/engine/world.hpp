#pragma once
/// What the tests of the engine begin with: the world, and all plugins.
#include "gangsched/plugins.hpp"
#include "support/world.hpp"
