#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "gangsched/kube/document.hpp"

/// What objects lack before they are read, and what they are called then.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// What to call an object in messages, before it has been read.
std::string name_of_object(const value& object, std::string_view kind, bool namespaced);

/// Gives an object with a generateName and no name one; what is random there counts objects here.
void generate_name(value& object, std::size_t& number);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
