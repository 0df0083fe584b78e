#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gangsched/core/config.hpp"
#include "gangsched/model/affinity_spec.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

/// The path to a field of a spec during a check: a chain on the stack that becomes text only for an error.
struct spec_path {
  enum class step : std::uint8_t { field, element, entry };
  const spec_path* up = nullptr;
  step kind = step::field;
  std::string_view name = {};
  std::size_t index = 0;

  [[nodiscard]] spec_path field(std::string_view of) const noexcept { return {this, step::field, of}; }
  [[nodiscard]] spec_path at(std::size_t number) const noexcept { return {this, step::element, {}, number}; }
  [[nodiscard]] spec_path at(std::string_view key) const noexcept { return {this, step::entry, key}; }

  [[nodiscard]] std::string text() const {
    std::string all = up == nullptr ? std::string{} : up->text();
    switch (kind) {
      case step::field:
        if (!all.empty()) all += '.';
        all += name;
        break;
      case step::element: all += "[" + std::to_string(index) + "]"; break;
      case step::entry: all.append("[\"").append(name).append("\"]"); break;
    }
    return all;
  }
};

/// What an error says of a controller: of each kind there may be one of a name.
[[nodiscard]] inline std::string controller_object(controller_kind kind, std::string_view ns, std::string_view name) {
  std::string text = kind == controller_kind::replication_controller ? "replication controller "
                     : kind == controller_kind::replica_set          ? "replica set "
                     : kind == controller_kind::stateful_set         ? "stateful set "
                     : kind == controller_kind::daemon_set           ? "daemon set "
                                                                     : "controller ";
  if (!ns.empty()) (text += ns) += '/';
  return text += name;
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
