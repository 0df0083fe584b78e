// Hosts that answer when they like: late, twice, for attempts that are over, inside the loop over decisions, and over restarts. Their
// book of open attempts is what the cluster has assumed, after every call.
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "support/dice.hpp"
#include "support/inside.hpp"
#include "world.hpp"

namespace gangsched::testing::late_answers_property_test {

namespace {

class slow_host {
 public:
  explicit slow_host(std::uint64_t seed) : roll_(seed) {
    make_cluster(0);
    for (int i = 0; i < 4; ++i) add_node();
    make_scheduler();
  }
  void step() {
    const std::size_t what = roll_.below(24);
    if (what < 6)
      turn();
    else if (what < 9)
      add_job();
    else if (what < 14)
      answer();
    else if (what == 14)
      add_node();
    else if (what == 15)
      remove_node();
    else if (what == 16)
      remove_pod();
    else if (what == 17)
      bind_by_others();
    else if (what == 18)
      take_back();
    else if (what == 19)
      now_ += std::chrono::milliseconds{roll_.between(0, 3000)};
    else if (what == 20)
      permit();
    else if (what == 21 && roll_.percent(20))
      restart_scheduler();
    else if (what == 22 && roll_.percent(20))
      restart_all();
    else if (what == 23)
      end_pod();
  }
  int confirmed = 0, failed = 0, late = 0, revoked = 0, passed_over = 0;

 private:
  struct open_attempt {
    std::string pod;
    node_id node;
    bool waits;
  };
  struct message {  // under way from a node
    std::string pod;
    bind_attempt attempt;
  };

  void make_cluster(std::uint64_t attempts_after) {
    scheduler_.reset();
    cluster_ = std::make_unique<cluster>(
        cluster_options{.log_bound = roll_.percent(30) ? 4u : 1024u, .attempts_after = attempts_after});
  }
  void make_scheduler() {
    scheduler_.emplace(*cluster_, profiles::kube_default(), scheduler_options{.ties = tie_rule::lowest_row});
  }
  void add_node() {
    a_node node{"n" + std::to_string(made_++)};
    world::must(cluster_->add_node(node.cpu(roll_.between(1, 4))));
  }
  void remove_node() {
    const std::vector<node_id> nodes = cluster_->nodes();
    if (nodes.size() < 3) return;
    for (const removed_pod& one : world::must(cluster_->remove_node(roll_.of(nodes)))) {
      CHECK(pods_.at(one.name).cookie == one.cookie);
      forget(one.name);
    }
  }
  void add_job() {
    const std::string name = "j" + std::to_string(made_++);
    const auto size = static_cast<std::int32_t>(roll_.between(1, 3));
    std::string group;
    if (roll_.percent(70)) {
      a_gang spec{name, static_cast<std::int32_t>(roll_.between(1, size))};
      if (roll_.percent(50)) spec.atomic();
      if (roll_.percent(50)) spec.permit().timeout(std::chrono::seconds{roll_.between(1, 5)});
      world::must(cluster_->add_group(spec));
      groups_[group = name] = spec;
    }
    const auto priority = static_cast<std::int32_t>(roll_.below(3));
    for (int i = 0; i < size; ++i) add_pod(name + "-" + std::to_string(i), group, priority);
  }
  void add_pod(const std::string& name, const std::string& group, std::int32_t priority) {
    a_pod pod{name};
    pod.cpu(roll_.between(1, 2)).cookie(static_cast<std::uint64_t>(made_++)).priority(priority);
    groups_of_[name] = group;
    pods_[name] = pod;
    pods_[name].group = group.empty() ? group_id{} : cluster_->find_group("default", group).value();
    world::must(cluster_->add_pod(pods_[name]));
  }
  [[nodiscard]] pod_id id_of(const std::string& name) const {
    return cluster_->find_pod("default", name).value_or(pod_id{});
  }
  [[nodiscard]] std::string some_pod() {
    if (pods_.empty()) return {};
    return std::next(pods_.begin(), static_cast<std::ptrdiff_t>(roll_.below(pods_.size())))->first;
  }
  /// The pod is gone.
  void forget(const std::string& name) {
    std::erase_if(open_, [&](const auto& one) { return one.second.pod == name; });
    runs_.erase(name);
    pods_.erase(name);
  }
  void remove_pod() {
    const std::string name = some_pod();
    if (name.empty()) return;
    world::must(cluster_->remove_pod(id_of(name)));
    forget(name);
  }
  void end_pod() {
    if (const std::string name = some_pod(); !name.empty()) world::must(cluster_->set_terminating(id_of(name)));
  }
  void bind_by_others() {
    const std::string name = some_pod();
    const std::vector<node_id> nodes = cluster_->nodes();
    if (name.empty() || cluster_->state_of(id_of(name)) == pod_state::bound) return;
    pod_spec spec = pods_[name];
    spec.node = roll_.of(nodes);
    const node_id before = cluster_->node_of(id_of(name));
    const bind_attempt attempt = cluster_->attempt_of(id_of(name));
    world::must(cluster_->update_pod(id_of(name), spec));
    if (before == spec.node) open_.erase(attempt);
    CHECK((cluster_->attempt_of(id_of(name)) == attempt) == (before == spec.node && static_cast<bool>(before)));
    runs_[name] = cluster_->attempt_of(id_of(name));
  }
  void take_back() {
    const std::vector<pod_id> all = cluster_->assumed();
    if (!all.empty()) world::must(cluster_->release(roll_.of(all)));
  }

  // --- the loop

  void turn() {
    for (int count = 0;; ++count) {
      REQUIRE(count < 2000);
      const cycle said = scheduler_->schedule_cycle(now_);
      REQUIRE(said.error() == nullptr);
      execute(said);
      if (!said) break;
    }
  }
  void permit() {
    const cycle said = scheduler_->permit(now_);
    REQUIRE(said.error() == nullptr);
    execute(said);
  }
  void execute(const cycle& said) {
    ahead_.clear();
    for (const decision& one : said.decisions()) {
      if (one.kind == decision_kind::bind || one.kind == decision_kind::wait) ahead_.insert(one.attempt);
      CHECK((one.attempt != bind_attempt::none) ==
            (one.kind == decision_kind::bind || one.kind == decision_kind::wait || one.kind == decision_kind::revoke));
    }
    for (const decision& one : said) take(one);
    passed_over += static_cast<int>(ahead_.size());
    ahead_.clear();
    check_books();
  }
  void take(const decision& one) {
    REQUIRE(cluster_->contains(one.pod));
    const std::string name{cluster_->name_of(one.pod)};
    CHECK(one.pod_cookie == pods_.at(name).cookie);
    if (one.node) CHECK(cluster_->contains(one.node));
    switch (one.kind) {
      case decision_kind::wait:
      case decision_kind::bind: {
        ahead_.erase(one.attempt);
        largest_ = std::max(largest_, one.attempt);
        CHECK(cluster_->state_of(one.pod) == pod_state::assumed);
        CHECK(cluster_->attempt_of(one.pod) == one.attempt);
        CHECK(cluster_->node_of(one.pod) == one.node);
        const auto known = open_.find(one.attempt);
        if (known == open_.end()) {
          CHECK(seen_.insert(one.attempt).second);
        } else {
          CHECK(known->second.waits);
          CHECK(known->second.pod == name);
          CHECK(known->second.node == one.node);
        }
        open_[one.attempt] = {name, one.node, one.kind == decision_kind::wait};
        if (one.kind == decision_kind::wait) break;
        if (roll_.percent(70)) messages_.push_back({name, one.attempt});
        if (roll_.percent(20)) messages_.push_back({name, one.attempt});
        if (roll_.percent(10))
          say({name, one.attempt}, false);
        else if (roll_.percent(10))
          say({name, one.attempt}, true);
        break;
      }
      case decision_kind::revoke: {
        ++revoked;
        const auto known = open_.find(one.attempt);
        if (known == open_.end()) {
          CHECK(ahead_.contains(one.attempt));  // never begun: the loop passes over it
          break;
        }
        CHECK(known->second.pod == name);
        open_.erase(known);
        break;
      }
      case decision_kind::evict:
        CHECK(runs_.contains(name));
        world::must(cluster_->remove_pod(one.pod));
        forget(name);
        break;
      case decision_kind::notice:
      case decision_kind::withdraw:
      case decision_kind::reject:
      case decision_kind::nominate: break;
    }
  }

  // --- answers

  void answer() {
    if (messages_.empty()) return;
    const std::size_t which = roll_.below(messages_.size());
    const message said = messages_[which];
    if (roll_.percent(80)) messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(which));
    say(said, roll_.percent(70));
  }
  void say(const message& said, bool runs) {
    const pod_id pod = id_of(said.pod);
    std::optional<errc> wanted;
    const auto open = open_.find(said.attempt);
    const bool holds = open != open_.end() && cluster_->attempt_of(pod) == said.attempt;  // else a revoke is on its way
    const auto running = runs_.find(said.pod);
    if (!pod)
      wanted = errc::unknown;
    else if (running != runs_.end() && running->second == said.attempt)
      wanted = errc::wrong_state;
    else if (!holds)
      wanted = errc::outdated;
    else if (runs && open->second.waits)
      wanted = errc::wrong_state;
    const std::uint64_t before = wanted ? cluster_->digest() : 0;
    std::optional<errc> got;
    if (runs) {
      const auto done = scheduler_->confirm(pod, said.attempt);
      if (!done)
        got = done.error().code;
      else
        runs_[said.pod] = said.attempt, open_.erase(said.attempt), ++confirmed;
    } else {
      const cycle taken_back = scheduler_->fail(pod, said.attempt, "no");
      if (taken_back.error() != nullptr) {
        got = taken_back.error()->code;
      } else {
        ++failed;
        open_.erase(said.attempt);
        for (const decision& one : taken_back) take(one);
      }
    }
    CHECK(got == wanted);
    if (!wanted) return;
    CHECK(cluster_->digest() == before);
    ++late;
  }

  // --- restarts

  /// What ended and was not said yet, nobody says any more: the host looks.
  void restart_scheduler() {
    scheduler_.reset();
    std::erase_if(open_, [&](const auto& one) { return cluster_->attempt_of(id_of(one.second.pod)) != one.first; });
    for (auto& [attempt, one] : open_) one.waits = false;
    make_scheduler();
  }
  void restart_all() {
    struct saved {
      std::string name, running_on, binding_on;
      bool terminating;
    };
    std::vector<saved> all;
    std::vector<node_spec> nodes;
    for (const node_id node : cluster_->nodes()) {
      a_node spec{std::string{cluster_->name_of(node)}};
      nodes.push_back(spec.cpu_milli(cluster_->allocatable(node, "cpu")));
    }
    for (const auto& [name, spec] : pods_) {
      const std::string on{cluster_->name_of(cluster_->node_of(id_of(name)))};
      const pod_state state = cluster_->state_of(id_of(name));
      all.push_back({name, state == pod_state::bound ? on : "", state == pod_state::assumed ? on : "",
                     inside(*cluster_).pods.terminating[id_of(name).row]});
    }
    for (const pod_id pod : cluster_->assumed()) largest_ = std::max(largest_, cluster_->attempt_of(pod));
    make_cluster(static_cast<std::uint64_t>(largest_));
    open_.clear(), runs_.clear();
    for (const node_spec& node : nodes) world::must(cluster_->add_node(node));
    for (const auto& [name, spec] : groups_) world::must(cluster_->add_group(spec));
    for (const saved& one : all) {
      pod_spec& spec = pods_[one.name];
      const std::string& group = groups_of_[one.name];
      spec.group = group.empty() ? group_id{} : cluster_->find_group("default", group).value();
      pod_spec now = spec;
      now.terminating = one.terminating && one.binding_on.empty();
      if (!one.running_on.empty()) now.node = cluster_->find_node(one.running_on).value();
      const pod_id pod = world::must(cluster_->add_pod(now));
      if (!one.running_on.empty()) runs_[one.name] = bind_attempt::none;
      if (one.binding_on.empty()) continue;
      const node_id node = cluster_->find_node(one.binding_on).value();
      world::must(cluster_->assume(pod, node));
      const bind_attempt attempt = cluster_->attempt_of(pod);
      CHECK(attempt > largest_);
      largest_ = attempt;
      CHECK(seen_.insert(attempt).second);
      open_[attempt] = {one.name, node, false};
      if (roll_.percent(50)) messages_.push_back({one.name, attempt});
    }
    make_scheduler();
  }

  void check_books() {
    std::set<bind_attempt> assumed;
    for (const pod_id pod : cluster_->assumed()) {
      const bind_attempt attempt = cluster_->attempt_of(pod);
      assumed.insert(attempt);
      const auto known = open_.find(attempt);
      REQUIRE(known != open_.end());
      CHECK(known->second.pod == cluster_->name_of(pod));
      CHECK(known->second.node == cluster_->node_of(pod));
    }
    CHECK(assumed.size() == open_.size());
  }

  dice roll_;
  std::unique_ptr<cluster> cluster_;
  std::optional<scheduler> scheduler_;
  instant now_{0};
  int made_ = 0;
  std::map<std::string, pod_spec> pods_;
  std::map<std::string, std::string> groups_of_;
  std::map<std::string, group_spec> groups_;
  std::map<bind_attempt, open_attempt> open_;
  std::map<std::string, bind_attempt> runs_;
  std::set<bind_attempt> seen_;
  std::set<bind_attempt> ahead_;  ///< binds and waits that the loop has not come to
  std::vector<message> messages_;
  bind_attempt largest_ = bind_attempt::none;
};

}  // namespace

TEST_CASE("a host that answers late, twice and for attempts that are over knows what is under way",
          "[engine][answers][property]") {
  int confirmed = 0, failed = 0, late = 0, revoked = 0, passed_over = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    slow_host host{seed};
    for (int step = 0; step < 120; ++step) {
      CAPTURE(step);
      host.step();
    }
    confirmed += host.confirmed, failed += host.failed, late += host.late, revoked += host.revoked,
        passed_over += host.passed_over;
  }
  CHECK(confirmed > 500);
  CHECK(failed > 200);
  CHECK(late > 500);
  CHECK(revoked > 200);
  CHECK(passed_over > 5);
}

}  // namespace gangsched::testing::late_answers_property_test
