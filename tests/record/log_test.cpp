// Decision logs: what is recorded, how it reads, and that it is made again as it was.
#include <algorithm>
#include <optional>

#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/record/recorder.hpp"
#include "gangsched/record/replayer.hpp"
#include "record/repaired.hpp"
#include "support/dice.hpp"
#include "support/world.hpp"

namespace gangsched::testing::log_test {

namespace {

using record::log_reader;
using record::logged_call;
using record::recorder;
using record::replayer;
using bytes = std::vector<std::byte>;

std::vector<kernel_table> kube(std::uint32_t) { return {profiles::kube_default()}; }

/// Two nodes, three pods of which one has no place, a transaction that is taken back, and a call that is refused.
struct recorded {
  cluster on;
  recorder log = recorder::start(on, {.about = "a test"}).value();
  std::optional<scheduler> by;

  recorded() {
    by.emplace(on, profiles::kube_default(), world::lowest_first());
    on.add_node(a_node("n1").cpu(2)).value();
    on.add_node(a_node("n2").cpu(2)).value();
    for (const char* name : {"a", "b", "c"}) on.add_pod(a_pod(name).cpu(2)).value();
    CHECK(!on.add_pod(a_pod("a").cpu(1)));
    {
      transaction trial{on};
      on.add_pod(a_pod("never").cpu(1)).value();
    }
    while (by->schedule_cycle(1s)) {
    }
    by->confirm(on.find_pod("default", "a").value()).value();
    static_cast<void>(by->fail(on.find_pod("default", "b").value(), "no image"));
    log.write_digest().value();
  }
};

/// "add_node: node n1"
std::vector<std::string> read(const bytes& log) {
  std::vector<std::string> lines;
  log_reader from = log_reader::open(log).value();
  while (const std::optional<logged_call> call = from.next().value())
    lines.push_back(std::string{call->name} + ": " + from.answer_of(*call));
  return lines;
}

}  // namespace

TEST_CASE("a log says each call and what came of it", "[record]") {
  recorded some;
  const bytes log = some.log.take();
  std::vector<std::string> lines = read(log);
  REQUIRE(lines.size() == some.log.calls() + 1);
  CHECK(lines.back().starts_with("digest: "));
  lines.pop_back();
  CHECK(lines == std::vector<std::string>{
                     "make_scheduler: ", "add_node: node n1", "add_node: node n2", "add_pod: pod a", "add_pod: pod b",
                     "add_pod: pod c", "add_pod: refused: duplicate (pod default/a: name: exists already)",
                     "begin_transaction: ", "add_pod: pod never",
                     "roll_back: ", "schedule_cycle: bind pod a on node n1, score 375, attempt 6",
                     "schedule_cycle: bind pod b on node n2, score 375, attempt 7", "schedule_cycle: reject pod c",
                     "schedule_cycle: nothing to do", "confirm_last: done", "fail_last: nothing decided"});
  log_reader from = log_reader::open(log).value();
  CHECK(from.about() == "a test");
  for (int skipped = 0; skipped < 4; ++skipped) static_cast<void>(from.next().value());
  const logged_call call = from.next().value().value();
  CHECK(call.number == 5);
  CHECK(from.text_of(call).starts_with("add_pod {name: \"b\", containers: [{requests: {cpu: 2}}]"));
}

TEST_CASE("a log that is made again has the same decisions and the same cluster", "[record]") {
  recorded some;
  const bytes log = some.log.take();
  replayer again = replayer::open(log, {.profiles = kube}).value();
  const auto parted = again.run();
  REQUIRE(parted);
  CHECK(!*parted);
  CHECK(again.calls() == some.log.calls());
  CHECK(again.cluster().digest() == some.on.digest());
  SECTION("and may be gone on with") {
    REQUIRE(again.scheduler() != nullptr);
    const auto word = [](cycle said) {
      return said.decisions().empty() ? std::string{} : std::string{to_string(said.decisions()[0].kind)};
    };
    for (const instant now : {instant{2s}, instant{4s}, instant{6s}})
      CHECK(word(again.scheduler()->schedule_cycle(now)) == word(some.by->schedule_cycle(now)));
    CHECK(again.cluster().digest() == some.on.digest());
  }
  SECTION("and may be handed over") {
    result<forked> taken = again.take();
    REQUIRE(taken);
    CHECK(again.take().error().code == errc::wrong_state);
    result<forked> other = some.by->fork();
    REQUIRE(other);
    for (forked* one : {&*taken, &*other}) {
      one->cluster.add_node(a_node("n3").cpu(4)).value();
      while (one->scheduler.schedule_cycle(20s)) {
      }
    }
    CHECK(taken->cluster.node_of(taken->cluster.find_pod("default", "c").value()));
    CHECK(taken->cluster.digest() == other->cluster.digest());
  }
}

TEST_CASE("a replay stops where something else is decided, and says both", "[record]") {
  recorded some;
  const bytes log = some.log.take();
  // As if another build had been at work: node n1 is said to have been smaller.
  cluster on;
  recorder other = recorder::start(on).value();
  scheduler by{on, profiles::kube_default(), world::lowest_first()};
  on.add_node(a_node("n1").cpu(1)).value();
  const bytes shorter = other.take();
  log_reader a = log_reader::open(log).value(), b = log_reader::open(shorter).value();
  static_cast<void>(a.next().value()), static_cast<void>(b.next().value());
  const logged_call mine = a.next().value().value(), theirs = b.next().value().value();
  CHECK(!record::same_call(mine, theirs));
  CHECK(record::same_answer(mine, theirs));

  kernel_table packs = profiles::bin_packing();
  const auto packing = [&](std::uint32_t) { return std::vector<kernel_table>{packs}; };
  replayer again = replayer::open(log, {.profiles = packing}).value();
  const auto parted = again.run();
  REQUIRE(parted);  // the plugins have the same names: only what they decide says that they were told something else
  REQUIRE(*parted);
  CHECK((*parted)->call.number == 11);
  CHECK((*parted)->text == "schedule_cycle 1s");
  CHECK((*parted)->recorded.starts_with("bind pod a on node n1, score 375"));
  CHECK((*parted)->here != (*parted)->recorded);
  CHECK(!again.run().value());  // nothing more is made
  CHECK(again.calls() == 11);
}

TEST_CASE("a replay refuses other profiles and names what differs", "[record]") {
  recorded some;
  const bytes log = some.log.take();
  const auto refused = [&](std::vector<kernel_table> by) {
    replayer again = replayer::open(log, {.profiles = [&](std::uint32_t) { return by; }}).value();
    const auto ran = again.run();
    REQUIRE(!ran);
    CHECK(ran.error().code == errc::wrong_state);
    return ran.error().message();
  };
  kernel_table renamed = profiles::kube_default();
  renamed.scheduler_name = "mine";
  CHECK(refused({renamed}) ==
        "profile default-scheduler: scheduler_name: was default-scheduler when it was recorded, is mine");
  CHECK(refused({profiles::kube_default(), renamed}) == "scheduler: profiles: were 1 when it was recorded, are 2");
  CHECK(refused({profiles::with_queues()}).starts_with("profile default-scheduler: plugins["));
  kernel_table more = profiles::kube_default();
  more.plugins.push_back(more.plugins.front());
  more.plugins.back().name = "none";  // as it is called where there is none
  CHECK(refused({more}).ends_with(": was none when it was recorded, is none"));
  CHECK(refused({}) == "scheduler: profiles: were 1 when it was recorded, are 0");
  const device_matcher matcher{[](void*, std::string_view, const other_device&) { return device_verdict{}; }, nullptr};
  const auto opened = replayer::open(log, {.profiles = kube, .matcher = matcher});
  REQUIRE(!opened);
  CHECK(opened.error().message() == "decision log: device_matcher: the recorded cluster had none");
}

TEST_CASE("a recording begins with the first call, and ends with the cluster", "[record]") {
  cluster begun;
  begun.add_node(a_node("n1")).value();
  CHECK(recorder::start(begun).error().code == errc::wrong_state);
  std::optional<recorder> log;
  {
    cluster on;
    const scheduler before{on, profiles::kube_default()};  // whose plugins have columns
    CHECK(recorder::start(on).error().code == errc::wrong_state);
  }
  {
    cluster on;
    log = recorder::start(on).value();
    on.add_node(a_node("n1")).value();
    cluster moved = std::move(on);  // who has it does not matter
    moved.add_node(a_node("n2")).value();
    CHECK(log->calls() == 2);
    recorder second = *std::move(log);
    log.reset();
    CHECK(!second.ended());
    moved.add_node(a_node("n3")).value();
    CHECK(second.calls() == 3);
    log = std::move(second);
  }
  CHECK(log->ended()->code == errc::unknown);
  CHECK(log->write_digest().error().code == errc::unknown);
  CHECK(read(log->take()) == std::vector<std::string>{"add_node: node n1", "add_node: node n2", "add_node: node n3"});
}

TEST_CASE("a recording that is refused does not end the one that runs", "[record]") {
  cluster on;
  recorder log = recorder::start(on).value();
  on.add_node(a_node("n1")).value();
  CHECK(recorder::start(on).error().code == errc::wrong_state);
  CHECK(!log.ended());
  on.add_node(a_node("n2")).value();
  CHECK(log.calls() == 2);
  {
    cluster fresh;
    recorder first = recorder::start(fresh).value();
    const transaction open{fresh};
    CHECK(recorder::start(fresh).error().code == errc::busy);
    CHECK(!first.ended());
  }
}

TEST_CASE("a log of a cluster that keeps more changes than any can is refused", "[record]") {
  cluster on{{.log_bound = std::size_t{1} << 40}};
  recorder recording = recorder::start(on).value();
  on.add_node(a_node("n1")).value();
  bytes log = recording.take();
  REQUIRE(log_reader::open(log));
  bytes bound(5, std::byte{0x80});
  bound.push_back(std::byte{0x20});
  const auto at = std::ranges::search(log, bound);
  REQUIRE(at.size() == bound.size());
  at.back() = std::byte{0x40};
  log = repaired(log);
  const auto opened = replayer::open(log, {.profiles = kube});
  REQUIRE(!opened);
  CHECK(opened.error().message() == "decision log: log_bound: is more than 2^40");
}

TEST_CASE("a replay that met an error makes nothing more and hands nothing out", "[record]") {
  recorded some;
  const bytes log = some.log.take();
  std::uint32_t asked = 0;
  replayer again =
      replayer::open(log, {.profiles = [&](std::uint32_t) { return ++asked, std::vector<kernel_table>{}; }}).value();
  CHECK(again.run().error().code == errc::wrong_state);
  CHECK(again.calls() == 0);
  CHECK(again.run());
  CHECK(again.calls() == 0);
  CHECK(asked == 1);
  CHECK(again.cluster().nodes().empty());
  const auto taken = again.take();
  REQUIRE(!taken);
  CHECK(taken.error().code == errc::wrong_state);
}

TEST_CASE("a scheduler that was made in an open transaction is made there again", "[record]") {
  const bool commits = GENERATE(false, true);
  cluster on;
  recorder recording = recorder::start(on).value();
  std::optional<scheduler> by;
  on.add_node(a_node("n1").cpu(4)).value();
  on.add_pod(a_pod("a").cpu(1)).value();
  {
    transaction trial{on};
    on.add_node(a_node("n2").cpu(8)).value();
    on.add_pod(a_pod("b").cpu(1)).value();
    by.emplace(on, profiles::kube_default(), world::lowest_first());
    if (commits) trial.commit();
  }
  while (by->schedule_cycle(1s)) {
  }
  CHECK(on.node_of(on.find_pod("default", "a").value()));
  recording.write_digest().value();
  const bytes log = recording.take();
  replayer again = replayer::open(log, {.profiles = kube}).value();
  const auto parted = again.run();
  INFO((parted ? "" : parted.error().message()));
  REQUIRE(parted);
  CHECK(!*parted);
  CHECK(again.calls() == recording.calls());
  CHECK(again.cluster().digest() == on.digest());
}

TEST_CASE("a log that was cut off anywhere is read up to there, and one that was damaged is refused", "[record]") {
  recorded some;
  const bytes log = some.log.take();
  const std::vector<std::string> whole = read(log);
  for (std::size_t size = 0; size < log.size(); ++size) {
    const std::span<const std::byte> part{log.data(), size};
    auto from = log_reader::open(part);
    if (!from) continue;
    std::size_t calls = 0;
    while (from->next().value()) ++calls;
    REQUIRE(calls < whole.size());
    // Between two records nothing is missing that one could know of.
    if (calls + 1 == whole.size() && size + 1 == log.size()) CHECK(from->cut_off());
  }
  for (std::size_t i = 0; i < 2 * log.size(); ++i) {
    const std::size_t at = i / 2;
    bytes damaged = log;
    damaged[at] ^= i % 2 == 0 ? std::byte{0x10} : std::byte{0x80};
    auto from = log_reader::open(damaged);
    std::size_t calls = 0;
    bool refused = !from;
    while (from && !refused) {
      const auto next = from->next();
      refused = !next;
      if (!next || !*next) break;
      ++calls;
    }
    INFO(at);
    REQUIRE(refused);  // also where the size of a record leads beyond the end
    REQUIRE(calls < whole.size());
  }
}

}  // namespace gangsched::testing::log_test
