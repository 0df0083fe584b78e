#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "conformance/cases.hpp"
#include "gangsched/framework/profile.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"

// queue: the host drives the queue of one scheduler, and looks where everybody stands after each of its steps.
namespace gangsched::conformance {
namespace {

using namespace std::chrono_literals;

scheduler_options queue_options() {
  scheduler_options made = with_kube_queue();
  made.timers = timer_rule::by_host;
  return made;
}

class queue_runner {
 public:
  queue_runner(const kube::value& recorded, const std::string& file, kernel_table table, tally& into)
      : recorded_(&recorded), file_(&file), into_(&into), scheduler_(cluster_, std::move(table), queue_options()) {}

  /// To the first difference: what follows would follow from it.
  void run() {
    std::size_t number = 0;
    const std::size_t before = into_->differences;
    for (const kube::value& one : field(*recorded_, "ops", *file_).items) {
      const std::string& op = text_field(one, "op", *file_);
      where_ = fmt::format("{} op {} ({})", text_field(*recorded_, "name", *file_), number++, op);
      now_ += 1ms;
      step(op, one);
      must(scheduler_.catch_up(now_));
      compare(field(one, "expect", *file_));
      if (into_->differences != before) return;
    }
  }

 private:
  static std::string key_of(const pod_spec& spec) { return spec.ns + "/" + spec.name; }
  pod_id id_of(const std::string& key, const kube::value& at) {
    const auto found = ids_.find(key);
    if (found == ids_.end()) refuse(*file_, at, "there is no pod " + key);
    return found->second;
  }
  node_id node_of(const std::string& name, const kube::value& at) { return find_node(cluster_, name, at, *file_); }
  pod_spec read_pod(const kube::value& one) {
    kube::pod_manifest made = must(kube::read_pod(field(one, "pod", *file_), *file_, nullptr, {.defaulting = false}));
    if (!made.node.empty()) made.spec.node = node_of(made.node, one);
    return std::move(made.spec);
  }
  node_spec read_node(const kube::value& one) {
    return must(kube::read_node(field(one, "node", *file_), *file_, nullptr, {.defaulting = false})).spec;
  }
  void differ(std::string what, std::string expected, std::string got) {
    into_->add({where_, std::move(what), "", std::move(expected), std::move(got)});
  }

  void step(const std::string& op, const kube::value& one) {
    if (op == "add" || op == "assignedPodAdd") {
      pod_spec spec = read_pod(one);
      ids_[key_of(spec)] = must(cluster_.add_pod(spec));
      specs_[key_of(spec)] = std::move(spec);
    } else if (op == "update" || op == "assignedPodUpdate") {
      pod_spec spec = read_pod(one);
      must(cluster_.update_pod(id_of(key_of(spec), one), spec));
      specs_[key_of(spec)] = std::move(spec);
    } else if (op == "delete" || op == "assignedPodDelete") {
      must(cluster_.remove_pod(id_of(text_field(one, "pod", *file_), one)));
    } else if (op == "nodeAdd") {
      must(cluster_.add_node(read_node(one)));
    } else if (op == "nodeUpdate") {
      const node_spec spec = read_node(one);
      must(cluster_.update_node(node_of(spec.name, one), spec));
    } else if (op == "nodeDelete") {
      must(cluster_.remove_node(node_of(text_field(one, "node", *file_), one)));
    } else if (op == "pop") {
      pop(one);
    } else if (op == "fail") {
      const rejected_by why{texts(one.find("unschedulablePlugins")), texts(one.find("pendingPlugins"))};
      must(scheduler_.add_unschedulable(id_of(text_field(one, "pod", *file_), one), why, now_));
    } else if (op == "done") {
      must(scheduler_.done(id_of(text_field(one, "pod", *file_), one)));
    } else if (op == "bind") {
      const std::string& key = text_field(one, "pod", *file_);
      must(scheduler_.done(id_of(key, one)));
      specs_[key].node = node_of(text_field(one, "node", *file_), one);
      must(cluster_.update_pod(id_of(key, one), specs_[key]));
    } else if (op == "advance") {
      now_ += std::chrono::milliseconds{std::stoll(field(one, "ms", *file_).text)};
    } else if (op == "flushBackoff") {
      must(scheduler_.flush_backoff(now_));
    } else if (op == "flushUnschedulable") {
      must(scheduler_.flush_unschedulable(now_));
    } else if (op == "activate") {
      std::vector<pod_id> pods;
      for (const std::string& key : texts(one.find("pods"))) pods.push_back(id_of(key, one));
      must(scheduler_.activate(pods, now_));
    } else {
      refuse(*file_, one, "unknown op \"" + op + "\"");
    }
  }

  void pop(const kube::value& one) {
    const std::optional<attempt> got = must(scheduler_.pop(now_));
    const auto words = [](const std::string& key, const std::string& number, bool early) {
      return key.empty() ? std::string{"nobody"}
                         : fmt::format("{}, attempt {}{}", key, number, early ? ", from backoff" : "");
    };
    const kube::value* attempts = one.find("attempts");
    const std::string expected = words(text_field(one, "popped", *file_), attempts == nullptr ? "" : attempts->text,
                                       one.find("fromBackoff") != nullptr);
    std::string said = "nobody";
    if (got) said = words(key_of(got->pod), fmt::format("{}", got->number), got->from_backoff);
    if (expected != said) differ("popped", expected, said);
  }

  std::string key_of(pod_id pod) const {
    for (const auto& [key, id] : ids_)
      if (id == pod) return key;
    return "?";
  }

  void compare(const kube::value& expect) {
    std::map<std::string, std::vector<std::string>> got;
    for (const auto& [key, id] : ids_) {
      if (cluster_.state_of(id) != pod_state::pending) continue;
      const queue_standing stands = must(scheduler_.standing(id));
      switch (stands.place) {
        case queue_place::active: got["active"].push_back(key); break;
        case queue_place::backoff:
        case queue_place::error_backoff:
          got["backoff"].push_back(key);
          got["backoffUntilMs"].push_back(fmt::format("{}:{}", key, stands.backoff_until.value_or(-1ms) / 1ms));
          break;
        case queue_place::gated: got["gated"].push_back(key); [[fallthrough]];
        case queue_place::unschedulable: got["unschedulable"].push_back(key); break;
        case queue_place::in_flight:
        case queue_place::kept_back:
        case queue_place::none: break;
      }
    }
    for (const attempt& one : scheduler_.in_flight()) got["inFlight"].push_back(key_of(one.pod));
    for (const char* list : {"active", "backoff", "unschedulable", "gated", "inFlight", "backoffUntilMs"}) {
      std::vector<std::string> wanted;
      if (const kube::value* found = expect.find(list)) {
        for (std::size_t i = 0; i < found->items.size(); ++i)
          wanted.push_back(found->keys.empty() ? found->items[i].text : found->keys[i] + ":" + found->items[i].text);
      }
      std::sort(wanted.begin(), wanted.end());
      std::sort(got[list].begin(), got[list].end());
      if (wanted != got[list])
        differ(list, fmt::format("[{}]", fmt::join(wanted, " ")), fmt::format("[{}]", fmt::join(got[list], " ")));
    }
    ++into_->steps;
  }

  const kube::value* recorded_;
  const std::string* file_;
  tally* into_;
  gangsched::cluster cluster_;
  gangsched::scheduler scheduler_;
  std::map<std::string, pod_id> ids_;  // also of pods that are gone: one may be in flight still
  std::map<std::string, pod_spec> specs_;
  std::string where_;
  instant now_{};
};

}  // namespace

void run_queue_case(const kube::value& recorded, const std::string& file, tally& into) {
  queue_runner{recorded, file, profiles::kube_default(), into}.run();
}

}  // namespace gangsched::conformance
