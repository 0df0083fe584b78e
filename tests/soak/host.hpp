#pragma once
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "covers.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/record/recorder.hpp"
#include "gangsched/scheduler.hpp"
#include "gangsched/scheduling/observer.hpp"
#include "setting.hpp"
#include "specs.hpp"
#include "step.hpp"
#include "support/inside.hpp"
#include "world.hpp"

namespace gangsched::soak {

/// Carries steps out on a cluster and a scheduler, keeps the model beside them, and throws a `fault` when they differ or a promise of the
/// docs does not hold.
class host {
 public:
  explicit host(const setting& on);

  /// What it needs and does not find it leaves undone.
  void carry_out(const step& one);
  /// Every object goes, in order: nothing is left then.
  void finish();

  [[nodiscard]] const world& known() const noexcept { return known_; }
  [[nodiscard]] instant now() const noexcept { return now_; }
  /// Of all decisions, in words that do not depend on how names were interned.
  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }
  /// Where each decision is written down, if anywhere.
  void write_to(std::vector<std::string>* lines) noexcept { lines_ = lines; }

  struct counts {
    std::uint64_t steps = 0, decisions = 0, refused = 0;
  };
  [[nodiscard]] const counts& done() const noexcept { return counts_; }

 private:
  enum class from : std::uint8_t { cycle, permit, fail };

  // objects.cpp
  void add_node(const step& one);
  void update_node(const step& one);
  void remove_node(const step& one);
  void set_device_health(const step& one);
  void add_pod(const step& one);
  void add_pods(const step& one);
  void update_pod(const step& one);
  void resize_pods(const step& one);
  void remove_pod(const step& one);
  void set_terminating(const step& one);
  void learn(known_pod& pod, const pod_spec& spec, const step& one);
  void owe(number at);
  void forget_pod(number pod);
  std::optional<references> find_references(const step& one) const;

  // named.cpp
  void add_group(const step& one);
  void expect_group(const step& one);
  void update_group(const step& one);
  void remove_group(const step& one);
  void drop_gone_groups();
  void change_name(const step& one);
  void change_claim(const step& one);
  void change_budget(const step& one);
  void hold_room(const step& one);
  void set_column(const step& one);
  void measure(const step& one, dice any);

  // queues.cpp
  void change_queue(const step& one);
  void change_flavor(dice& any);
  [[nodiscard]] std::string queue_of(const known_pod& pod) const;
  [[nodiscard]] std::string flavor_of(const known_node& node) const;
  void check_queues() const;
  [[nodiscard]] bool drains(const known_pod& pod) const;

  // turns.cpp
  void pass_time(const step& one);
  bool cycle_once();
  void turn();
  void settle();
  void say_permit();
  void confirm(const step& one);
  void confirm_again(const step& one);
  void fail(const step& one);
  void rule_waiting(const step& one);
  void note_holders(known_pod& pod);
  void note_satisfied();
  void activate(const step& one);
  void restore(const step& one);
  void flush();
  void pop();
  void decide(const step& one);
  void restart();
  void rebuild();  // rebuild.cpp
  void fork(const step& one);
  void snapshot();                                                                // snapshots.cpp
  [[nodiscard]] std::optional<record::recorder> start_record(cluster& on) const;  // records.cpp
  void check_record();
  void roll_back(const step& one);
  void commit(const step& one);
  [[nodiscard]] bool refused_by_plugin(const known_pod& pod, number node) const;
  [[nodiscard]] std::optional<std::string> explained_place(const known_pod& pod) const;
  [[nodiscard]] std::optional<std::string> explained_placement(number at, const known_group& group) const;
  [[nodiscard]] std::optional<number> simple_place(const known_pod& pod) const;

  // decisions.cpp
  void take(const cycle& said, from whom);
  void take_one(const decision& one, from whom);
  void note(const decision& one, from whom);
  void check_place(const known_pod& pod, const decision& one) const;
  void check_gang(const known_pod& pod, decision_kind kind, from whom) const;
  void check_victims(std::span<const decision> all) const;
  [[nodiscard]] number number_of(pod_id pod) const;

  // checks.cpp
  void check_states(const char* after) const;
  [[nodiscard]] amounts left_of(const known_pod& reservation) const;
  void check_usage() const;
  void check_columns() const;
  void check_devices(number node) const;
  void check_queue() const;
  void check_listings() const;
  void check_deadline();
  void check_own_column();

  // questions.cpp
  void ask(const step& one);
  void misuse(const step& one);

  [[nodiscard]] std::string text_of(number pod) const;
  [[nodiscard]] std::string text_of_group(number group) const;

  /// A call that may be refused: then it changed nothing.
  template <class Call>
  auto tell(Call&& call) -> std::invoke_result_t<Call> {
    const bool look = ++told_ % 8 == 0;
    const std::uint64_t before = look ? inside(cluster_).digest_with_derived() : 0;
    auto made = call();
    if (!made) {
      ++counts_.refused;
      if (look && inside(cluster_).digest_with_derived() != before)
        wrong("a refused call changed something", made.error().message());
    }
    return made;
  }
  /// A call that has to do what it says.
  template <class T>
  static T must(result<T> made, const char* call) {
    if (!made) wrong(std::string{call} + " is refused", made.error().message());
    if constexpr (!std::is_void_v<T>) return *std::move(made);
  }
  [[noreturn]] static void wrong(std::string kind, std::string details = {}) {
    throw fault{std::move(kind), std::move(details)};
  }

  setting on_;
  cluster cluster_;
  std::optional<record::recorder> record_;  ///< of every call on the cluster, in some sequences
  observer watcher_;                        // nobody decides otherwise for being watched
  std::unique_ptr<scheduler> scheduler_;
  world known_;
  std::shared_ptr<host_rules> rules_ = std::make_shared<host_rules>();
  instant now_{0};
  bool error_owed_ = false;              ///< a hook threw where no attempt could say so
  std::map<bind_attempt, number> owed_;  ///< reservations that the host ended, until a decision says so
  std::uint64_t handled_ = 0;            ///< cycles of this scheduler that placed somebody
  std::uint64_t digest_ = 0;
  std::uint64_t told_ = 0;
  counts counts_;
  std::vector<std::string>* lines_ = nullptr;
};

}  // namespace gangsched::soak
