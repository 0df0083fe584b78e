// expect: use of deleted function|call to deleted constructor|no matching constructor|could not convert
#include "gangsched/model/spec.hpp"

inline const gangsched::resource_list requests{{"cpu", 1.5}};
