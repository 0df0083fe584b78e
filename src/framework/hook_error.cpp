#include "gangsched/framework/hook_error.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE hook_error::hook_error(std::string_view plugin, std::string_view what)
    : text_(std::make_shared<const std::string>("plugin " + std::string{plugin} +
                                                " threw an exception: " + std::string{what})) {}
GANGSCHED_INLINE const char* hook_error::what() const noexcept { return text_->c_str(); }

}  // namespace gangsched::inline GANGSCHED_ABI
