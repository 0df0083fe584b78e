#pragma once

// The one place that says the version; CMake, Conan and the tests read it from here.
#define GANGSCHED_VERSION_MAJOR 0
#define GANGSCHED_VERSION_MINOR 1
#define GANGSCHED_VERSION_PATCH 0
