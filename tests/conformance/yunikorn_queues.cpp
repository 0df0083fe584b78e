#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "conformance/cases.hpp"
#include "gangsched/queues/yunikorn/node_book.hpp"

// yunikorn-alloc.jsonl, yunikorn-preempt.jsonl, yunikorn-named.jsonl: the library's queues with its nodes and reservations.
namespace gangsched::conformance {
namespace {

using namespace gangsched::queues;
using yunikorn::ask_index;

/// All delays are over.
constexpr instant recorded_now = std::chrono::hours{1'000'000};

double number(const kube::value* of) { return of == nullptr ? 0 : std::strtod(of->text.c_str(), nullptr); }
std::int64_t whole_number(const kube::value* of) {
  return of == nullptr ? 0 : std::strtoll(of->text.c_str(), nullptr, 10);
}
bool is_set(const kube::value& of, std::string_view key) {
  const kube::value* found = of.find(key);
  return found != nullptr && found->text == "true";
}
std::string text_of(const kube::value* of) { return of == nullptr ? std::string{} : of->text; }

/// One history of a recorded case, from its beginning.
class yunikorn_run {
 public:
  yunikorn_run(const kube::value& recorded, const kube::value& history, const std::string& in, tally& to)
      : recorded_{recorded},
        history_{history},
        file_{in},
        into_{to},
        name_{text_field(recorded, "name", in)},
        queues_{must(yunikorn::partition::make(tree_of(recorded, in), settings_of(recorded, in)))} {
    std::map<std::string, yunikorn::resources> capacities;
    for (const kube::value& one : field(recorded, "nodes", in).items)
      capacities[text_field(one, "name", in)] = amounts(field(one, "capacity", in));
    yunikorn::node_book::options chosen;
    for (const std::string_view weighted : {"memory", "vcore"})
      if (const auto type = std::ranges::find(types_, weighted); type != types_.end())
        chosen.weights.emplace_back(static_cast<yunikorn::resource_type>(type - types_.begin()), 1);
    chosen.reservation_delay = chosen.reservation_wait = instant::max();
    chosen.preempts = preemption_ = is_set(recorded, "preemption");
    chosen.preemption_retry = {};
    nodes_.emplace(queues_, std::move(chosen));
    for (const auto& [name, capacity] : capacities) must(nodes_->add_node(name, capacity));
    for (const kube::value& one : field(recorded, "apps", in).items) {
      applications_[text_field(one, "id", in)] =
          must(queues_.add_application({queue_at(text_field(one, "queue", in)), text_field(one, "user", in),
                                        texts(one.find("groups")), whole_number(one.find("submitted"))}));
    }
    if (const kube::value* running = recorded.find("running"); running != nullptr)
      for (const kube::value& one : running->items) {
        const ask_index at = add_ask(one);
        must(nodes_->allocate(at, node_at(text_field(one, "node", in))));
      }
    if (const kube::value* asks = recorded.find("asks"); asks != nullptr)
      for (const kube::value& one : asks->items) add_ask(one);
  }

  /// Whether the order of asks and their victims are those of the history.
  bool run() {
    compare_fair_maxima();
    std::size_t number_of_step = 0;
    for (const kube::value& step : history_.items) {
      where_now_ = fmt::format("{}, step {}", name_, number_of_step++);
      const std::string& op = text_field(step, "op", file_);
      if (op == "schedule") {
        if (!schedule(step)) return false;
      } else if (op == "add") {
        for (const kube::value& one : field(step, "asks", file_).items) add_ask(one);
      } else if (op == "preempted" || op == "finish") {
        for (const std::string& key : texts(step.find("keys"))) must(nodes_->release(asks_.at(key)));
      } else {
        refuse(file_, step, "unknown op " + op);
      }
    }
    return true;
  }

 private:
  using outcome = yunikorn::cycle_outcome;

  static yunikorn::resources amounts_by(const kube::value* of, std::vector<std::string>& types) {
    yunikorn::resources made;
    for (std::size_t i = 0; of != nullptr && i < of->keys.size(); ++i) {
      auto at = std::ranges::find(types, of->keys[i]);
      if (at == types.end()) at = types.insert(at, of->keys[i]);
      made.set(static_cast<yunikorn::resource_type>(at - types.begin()), whole_number(&of->items[i]));
    }
    return made;
  }
  yunikorn::resources amounts(const kube::value& of) { return amounts_by(&of, types_); }

  static queue_tree tree_of(const kube::value& of, const std::string& file) {
    std::vector<queue_link> links;
    for (const kube::value& queue : field(of, "queues", file).items) {
      const std::string_view path = text_field(queue, "path", file);
      const std::size_t dot = path.rfind('.');
      links.push_back({path, dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot)});
    }
    return must(queue_tree::make(links));
  }
  std::vector<yunikorn::queue_settings> settings_of(const kube::value& of, const std::string& file) {
    std::vector<yunikorn::queue_settings> made;
    for (const kube::value& queue : field(of, "queues", file).items) {
      yunikorn::queue_settings one;
      one.guaranteed = amounts_by(queue.find("guaranteed"), types_);
      one.max = amounts_by(queue.find("max"), types_);
      if (text_field(queue, "path", file) == "root")
        for (const kube::value& one_node : field(of, "nodes", file).items)
          one.max += amounts(field(one_node, "capacity", file));
      one.max_applications = static_cast<std::uint32_t>(whole_number(queue.find("maxApps")));
      if (text_of(queue.find("sort")) == "fair") one.order = yunikorn::application_order::fair;
      one.priority_first = !is_set(queue, "noPrioritySort");
      one.priority_offset = static_cast<std::int32_t>(whole_number(queue.find("priorityOffset")));
      if (text_of(queue.find("priorityPolicy")) == "fence") one.priority = yunikorn::priority_policy::fence;
      const std::string preemption = text_of(queue.find("preemptionPolicy"));
      if (preemption == "fence") one.preemption = yunikorn::preemption_policy::fence;
      if (preemption == "disabled") one.preemption = yunikorn::preemption_policy::disabled;
      if (const kube::value* limits = queue.find("limits"); limits != nullptr)
        for (const kube::value& limit : limits->items)
          one.limits.push_back({texts(limit.find("users")), texts(limit.find("groups")),
                                amounts_by(limit.find("max"), types_),
                                static_cast<std::uint32_t>(whole_number(limit.find("maxApps")))});
      made.push_back(std::move(one));
    }
    return made;
  }
  [[nodiscard]] queue_index queue_at(const std::string& path) const {
    const auto found = queues_.tree().find(path);
    if (!found) refuse(file_, recorded_, "there is no queue " + path);
    return *found;
  }
  [[nodiscard]] yunikorn::node_number node_at(const std::string& name) const {
    const auto found = std::ranges::find(nodes_->nodes(), name, &yunikorn::booked_node::name);
    if (found == nodes_->nodes().end()) refuse(file_, recorded_, "there is no node " + name);
    return static_cast<yunikorn::node_number>(found - nodes_->nodes().begin());
  }

  ask_index add_ask(const kube::value& one) {
    const auto application = applications_.find(text_field(one, "app", file_));
    if (application == applications_.end()) refuse(file_, one, "there is no such application");
    yunikorn::ask_spec spec;
    spec.application = application->second;
    spec.request = amounts(field(one, "request", file_));
    spec.priority = static_cast<std::int32_t>(whole_number(one.find("priority")));
    spec.created = std::chrono::seconds{whole_number(one.find("created"))};
    spec.may_preempt = is_set(one, "mayPreempt");
    spec.opted_out = is_set(one, "optedOut");
    spec.originator = is_set(one, "originator");
    spec.on_required_node = one.find("requiredNode") != nullptr;
    const ask_index at = must(queues_.add_ask(spec));
    asks_[text_field(one, "key", file_)] = at;
    keys_[at] = text_field(one, "key", file_);
    return at;
  }

  // --- Cycles ---

  bool schedule(const kube::value& step) {
    const kube::value* events = step.find("events");
    const std::size_t expected = events == nullptr ? 0 : events->items.size();
    std::size_t seen = 0;
    for (int idle = 0; idle < 3;) {
      const outcome done = nodes_->cycle(recorded_now);
      if (done.what == outcome::kind::nothing) {
        ++idle;
        continue;
      }
      idle = 0;
      if (!compare_event(seen < expected ? &events->items[seen] : nullptr, done)) return false;
      ++seen;
    }
    if (seen < expected) return compare_event(&events->items[seen], {});
    compare_waiting(step);
    compare_queues(field(step, "queues", file_));
    compare_reserved(step.find("reserved"));
    return true;
  }

  // --- What is compared ---

  void same(const std::string& level, const std::string& what, const std::string& expected, const std::string& got) {
    into_.compare(level, expected == got, [&] { return difference{where_now_, what, "", expected, got}; });
  }

  [[nodiscard]] std::string describe(std::string key, std::vector<std::string> victims, bool sorted) const {
    if (sorted) std::ranges::sort(victims);
    for (const std::string& victim : victims) key += " " + victim;
    return key;
  }
  bool compare_event(const kube::value* recorded, const outcome& done) {
    std::vector<std::string> victims;
    if (done.what == outcome::kind::preempting)
      for (const ask_index victim : nodes_->last_plan()->victims) victims.push_back(keys_.at(victim));
    const std::string key = done.what == outcome::kind::nothing ? "nothing" : keys_.at(done.which);
    const std::string recorded_key = recorded == nullptr ? "nothing" : text_field(*recorded, "ask", file_);
    const std::vector<std::string> recorded_victims = texts(recorded == nullptr ? nullptr : recorded->find("victims"));
    const std::string expected = describe(recorded_key, recorded_victims, true), got = describe(key, victims, true);
    same("1 asks and victims", "event", expected, got);
    if (expected != got) return false;
    if (done.what == outcome::kind::placed)
      same("4 nodes", key, text_field(*recorded, "node", file_), nodes_->nodes()[queues_.of_ask(done.which).node].name);
    if (done.what == outcome::kind::preempting)
      same("4 victims in order", key, describe(key, recorded_victims, false), describe(key, victims, false));
    return true;
  }

  [[nodiscard]] std::string first_reason(ask_index which) {
    const yunikorn::wait_reasons why = queues_.why_waiting(which);
    if (why.queue_applications) return "queue application limit";
    if (why.user_applications) return "user application limit";
    if (why.user_quota) return "Not enough user quota";
    if (why.queue_quota) return "Not enough queue quota";
    return preemption_ ? "Preemption does not help" : "";
  }
  void compare_waiting(const kube::value& step) {
    std::map<std::string, std::string> expected;
    if (const kube::value* waiting = step.find("waiting"); waiting != nullptr)
      for (std::size_t i = 0; i < waiting->keys.size(); ++i)
        for (const std::string& key : texts(&waiting->items[i]))
          expected[key] = waiting->keys[i].substr(0, waiting->keys[i].find(';'));
    std::map<std::string, std::string> got;
    for (const auto& [key, which] : asks_)
      if (queues_.of_ask(which).spec.application != yunikorn::none && queues_.of_ask(which).node == yunikorn::none &&
          keys_.at(which) == key)
        got[key] = first_reason(which);
    for (const auto& [key, reason] : expected)
      same("2 waiting", key, reason, got.contains(key) ? got[key] : "it does not wait");
    for (const auto& [key, reason] : got)
      if (!expected.contains(key)) same("2 waiting", key, "it does not wait", reason);
  }

  [[nodiscard]] std::string describe(const yunikorn::resources& of) const {
    std::map<std::string, std::int64_t> by_name;
    yunikorn::resources::for_each(of.types(), [&](yunikorn::resource_type type) { by_name[types_[type]] = of[type]; });
    std::string made;
    for (const auto& [name, amount] : by_name) made += fmt::format("{}{} {}", made.empty() ? "" : ", ", name, amount);
    return made;
  }
  /// Amounts of 0 are left out: whether a recording has them depends on what came before.
  void same_amount(const std::string& what, const kube::value* recorded, const yunikorn::resources& got) {
    const auto kept = [](const yunikorn::resources& of) {
      yunikorn::resources made;
      yunikorn::resources::for_each(of.types(), [&](yunikorn::resource_type type) {
        if (of[type] != 0) made.set(type, of[type]);
      });
      return made;
    };
    same("3 queues", what, describe(kept(amounts_by(recorded, types_))), describe(kept(got)));
  }
  void compare_queues(const kube::value& recorded) {
    for (std::size_t i = 0; i < recorded.keys.size(); ++i) {
      const queue_index queue = queue_at(recorded.keys[i]);
      const kube::value& of = recorded.items[i];
      const auto what = [&](std::string_view field_name) {
        return fmt::format("{} of {}", field_name, recorded.keys[i]);
      };
      same_amount(what("allocated"), of.find("allocated"), queues_.usage(queue).allocated);
      same_amount(what("preempting"), of.find("preempting"), queues_.usage(queue).preempting);
      if (of.find("headRoom") != nullptr) same_amount(what("headroom"), of.find("headRoom"), queues_.headroom(queue));
      if (const kube::value* share = of.find("share"); share != nullptr) {
        const double expected = number(share), got = queues_.share(queue);
        into_.compare("3 queues", std::abs(expected - got) <= 1e-6 * std::max(1.0, std::abs(expected)), [&] {
          return difference{where_now_, what("share"), "", share->text, fmt::format("{}", got)};
        });
      }
      const auto priority = queues_.priority(queue);
      same("3 queues", what("priority"), of.find("priority") == nullptr ? "none" : of.find("priority")->text,
           priority ? fmt::format("{}", *priority) : "none");
      same("3 queues", what("running applications"), fmt::format("{}", whole_number(of.find("runningApps"))),
           fmt::format("{}", queues_.usage(queue).applications));
    }
  }
  void compare_reserved(const kube::value* recorded) {
    std::map<std::string, std::string> expected, got;
    for (std::size_t i = 0; recorded != nullptr && i < recorded->keys.size(); ++i)
      expected[recorded->keys[i]] = recorded->items[i].text;
    for (const yunikorn::booked_node& one : nodes_->nodes())
      if (one.reserved_for != yunikorn::none) got[keys_.at(one.reserved_for)] = one.name;
    const auto line = [](const std::map<std::string, std::string>& of) {
      std::string made;
      for (const auto& [ask, name] : of) made += fmt::format("{} on {} ", ask, name);
      return made;
    };
    same("4 reserved", "reservations", line(expected), line(got));
  }
  void compare_fair_maxima() {
    where_now_ = name_;
    const kube::value& recorded = field(recorded_, "fairMax", file_);
    for (std::size_t i = 0; i < recorded.keys.size(); ++i)
      same_amount("fair maximum of " + recorded.keys[i], &recorded.items[i],
                  queues_.fair_max(queue_at(recorded.keys[i])));
  }

  const kube::value& recorded_;
  const kube::value& history_;
  const std::string& file_;
  tally& into_;
  std::string name_, where_now_;
  std::vector<std::string> types_;
  yunikorn::partition queues_;
  std::optional<yunikorn::node_book> nodes_;  ///< by name
  std::map<std::string, yunikorn::application_index> applications_;
  std::map<std::string, ask_index> asks_;
  std::map<ask_index, std::string> keys_;
  bool preemption_ = false;
};

}  // namespace

void run_yunikorn_case(const kube::value& recorded, const std::string& file, tally& into) {
  const kube::value& runs = field(recorded, "runs", file);
  // One of the histories has to come out; what is counted is that one, or the first.
  std::optional<tally> kept;
  for (const kube::value& history : runs.items) {
    tally one{.keep = into.keep};
    yunikorn_run{recorded, history, file, one}.run();
    if (!kept || one.differences < kept->differences) kept = std::move(one);
  }
  if (!kept) refuse(file, runs, "a history is expected");
  into.steps += kept->steps;
  into.differences += kept->differences;
  for (const auto& [what, level] : kept->levels) {
    into.levels[what].compared += level.compared;
    into.levels[what].differences += level.differences;
  }
  for (difference& one : kept->first)
    if (into.first.size() < into.keep) into.first.push_back(std::move(one));
}

}  // namespace gangsched::conformance
