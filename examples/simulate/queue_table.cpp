#include "simulate/queue_table.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "simulate/table.hpp"

namespace simulate {

std::string queue_table(const outcome& of) {
  if (of.queues.empty()) return {};
  table made{{{"QUEUE"},
              {"STATE"},
              {"RESOURCE"},
              {"FLAVOR"},
              {"GUARANTEED", true},
              {"LIMIT", true},
              {"USED", true},
              {"BORROWED", true},
              {"WAITING", true},
              {"RUNNING", true}}};
  for (const queue_outcome& one : of.queues) {
    std::vector<std::string> head{std::string(2 * one.depth, ' ') + one.name, std::string{state_of(one)}};
    std::string running = fmt::format("{}", one.running);
    if (one.amounts.empty()) made.add({head[0], head[1], "", "", "", "", "", "", "", running});
    for (const queue_amount& amount : one.amounts) {
      const auto text = [&](const std::optional<std::int64_t>& units) {
        return units ? amount_text(amount.resource, *units) : std::string{"-"};
      };
      made.add({head[0], head[1], amount.resource, amount.flavor, text(amount.guaranteed), text(amount.limit),
                text(amount.used), text(amount.borrowed), amount.waiting ? text(amount.waiting) : std::string{},
                std::exchange(running, {})});
      head = {"", ""};
    }
  }
  return made.text();
}

}  // namespace simulate
