#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "gangsched/model/device_ledger.hpp"
#include "gangsched/model/mark_names.hpp"

// Expressions on devices that the host evaluates: asked when an expression, or an inventory, is new, so that choosing only looks up.
namespace gangsched::inline GANGSCHED_ABI::detail {

/// The device as the host told of it, but for what is a node's own.
GANGSCHED_INLINE other_device told_device(const interner& names, const device_inventory& inventory,
                                          std::size_t device) {
  const device_inventory::other& from = inventory.others[device];
  other_device made{.id = {}, .device_class = std::string{names.text(from.device_class)}};
  made.units = from.shared ? 1 : from.units;
  made.numa = from.numa;
  made.pcie = from.pcie;
  made.shared = from.shared;
  for (const auto& [name, value] : from.attributes) made.attributes.emplace(names.text(name), value);
  for (const auto& one : from.capacities) {
    const std::string name{names.text(one.name)};
    made.attributes.erase(capacity_attribute(name));
    made.capacities.emplace(name, one.has);
  }
  for (const auto& [counter, amount] : from.consumes)
    made.consumes.push_back({std::string{names.text(inventory.counters[counter].name)}, amount});
  return made;
}

/// Calls note(expression, class) for each expression, of alternatives too.
template <class Note>
void each_expression(std::span<const device_request> requests, const Note& note) {
  for (const device_request& one : requests) {
    for (const std::string& expression : one.expressions) note(expression, one.device_class);
    each_expression(one.first_of, note);
  }
}

/// A matcher that throws has answered: it cannot evaluate the device. std::bad_alloc is no answer and passes through.
GANGSCHED_INLINE device_verdict ask_matcher(const device_matcher& matcher, const std::string& expression,
                                            const other_device& device) {
  const auto threw = [&](const char* what) {
    return device_verdict{.error = "the device_matcher threw an exception on \"" + expression + "\": " + what};
  };
  try {
    return matcher.ask(matcher.context, expression, device);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& thrown) {
    return threw(thrown.what());
  } catch (...) {
    return threw("not a std::exception");
  }
}

/// Does something when it goes out of scope, be it by an exception.
template <class Action>
struct on_exit {
  Action action;
  explicit on_exit(Action what) : action(std::move(what)) {}
  on_exit(const on_exit&) = delete;
  on_exit& operator=(const on_exit&) = delete;
  ~on_exit() { action(); }
};

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE bool device_ledger::can_ask(std::span<const device_request> requests) const {
  bool any = false;
  detail::each_expression(requests, [&](const std::string&, const std::string&) { any = true; });
  return !any || matcher_.ask != nullptr;
}

GANGSCHED_INLINE void device_ledger::ask_host(std::span<const device_request> requests) {
  bool asked = false;
  const std::size_t before = expressions_.size();
  detail::each_expression(requests, [&](const std::string& expression, const std::string& device_class) {
    const std::pair<symbol, symbol> one{names_.intern(expression), names_.intern(device_class)};
    if (std::find(expressions_.begin(), expressions_.end(), one) == expressions_.end())
      expressions_.push_back(one), ++expressions_made_;
  });
  if (expressions_.size() == before) return;
  const detail::on_exit forget{[&] {  // unless the host was asked about all inventories
    if (!asked) expressions_.erase(expressions_.begin() + static_cast<std::ptrdiff_t>(before), expressions_.end());
  }};
  for (const auto& [bytes, kept] : inventories_) {
    if (const auto inventory = kept.lock()) ask_host(*inventory);
  }
  asked = true;
}

GANGSCHED_INLINE void device_ledger::ask_host(const device_inventory& inventory) {
  if (matcher_.ask == nullptr || inventory.answers == nullptr) return;
  const bool before = std::exchange(in_hook_, true);
  const detail::on_exit leave{[&] { in_hook_ = before; }};
  for (const auto& [expression, device_class] : expressions_) {
    auto& all = inventory.answers->by_expression;
    auto row = std::find_if(all.begin(), all.end(),
                            [&, &wanted = expression](const auto& one) { return one.first == wanted; });
    if (row == all.end())
      row = all.insert(row, {expression, std::vector<device_answers::of_device>(inventory.others.size())});
    const std::string text{names_.text(expression)};
    for (std::size_t i = 0; i < inventory.others.size(); ++i) {
      device_answers::of_device& answer = row->second[i];
      if (inventory.others[i].device_class != device_class || answer.said != device_answers::answer::not_asked)
        continue;
      const device_verdict said = detail::ask_matcher(matcher_, text, detail::told_device(names_, inventory, i));
      answer.error = names_.intern(said.error);
      answer.said = !said.error.empty() ? device_answers::answer::error
                    : said.matches      ? device_answers::answer::yes
                                        : device_answers::answer::no;
    }
  }
}

GANGSCHED_INLINE void device_ledger::sweep() noexcept {
  std::erase_if(expressions_, [&](const auto& one) { return !names_.marked(one.first); });
  for (const auto& [expression, device_class] : expressions_) names_.mark(device_class);
  std::erase_if(inventories_, [](const auto& one) { return one.second.expired(); });
  for (const auto& [bytes, kept] : inventories_) {
    const std::shared_ptr<const device_inventory> inventory = kept.lock();
    detail::mark(names_, *inventory);
    if (inventory->answers == nullptr) continue;
    auto& answers = inventory->answers->by_expression;
    std::erase_if(answers, [&](const auto& one) { return !names_.marked(one.first); });
    for (const auto& [expression, devices] : answers) {
      for (const device_answers::of_device& one : devices) names_.mark(one.error);
    }
  }
  expressions_made_ = 0;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
