#include "gangsched/record/replayer.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/model/transaction.hpp"
#include "gangsched/src/record/other_profiles.hpp"
#include "gangsched/src/record/reading.hpp"

namespace gangsched::inline GANGSCHED_ABI::record {

/// Hears what the replayed call was answered, in the bytes of a log.
class answer_catcher final : public call_listener {
 public:
  void called(const told_call& call) noexcept override {
    heard_ = no_memory_ = false;
    if (call.answer == nullptr && !has_no_answer(call.what)) return;  // the caller has the exception
    try {
      made_ = bytes_of_call(call);
      heard_ = true;
    } catch (const std::exception&) {
      no_memory_ = true;
    }
  }
  /// Of the call just made; nothing if it was not reported. Throws std::bad_alloc if there was no memory to write it down.
  [[nodiscard]] std::optional<call_bytes> take() {
    if (std::exchange(no_memory_, false)) throw std::bad_alloc{};
    return std::exchange(heard_, false) ? std::optional{std::move(made_)} : std::nullopt;
  }

 private:
  call_bytes made_;
  bool heard_ = false, no_memory_ = false;
};

class replayer::replaying {
 public:
  replaying(std::span<const std::byte> log, replay_setup&& setup, log_reader&& from)
      : log_(log), setup_(std::move(setup)), from_(std::move(from)), cluster_(options(from_.reading_->first())) {
    from_.reading_->learns(false);
    cluster_.listen(&heard_).value();
  }

  ~replaying() {
    while (!open_.empty()) open_.pop_back();  // the last one opened is the first to end
  }
  replaying(const replaying&) = delete;
  replaying& operator=(const replaying&) = delete;

  /// Which call of each scheduler is its last, so that those that are done with can go.
  [[nodiscard]] result<void> look_ahead() {
    auto ahead = log_reader::open(log_);
    if (!ahead) return std::move(ahead).error();
    ahead->reading_->learns(false);
    for (;;) {
      auto next = ahead->next();
      if (!next || !*next) return {};  // what is damaged is said where the replay comes to it
      const std::uint32_t scheduler = (*next)->scheduler;
      if (told{(*next)->kind} == told::make_scheduler && scheduler == last_calls_.size() + 1) last_calls_.push_back(0);
      if (scheduler != 0 && scheduler <= last_calls_.size()) last_calls_[scheduler - 1] = (*next)->number;
    }
  }

  result<std::optional<replay_difference>> run(std::uint64_t last) {
    if (over_) return std::optional<replay_difference>{};
    over_ = true;  // unless it goes well: behind an error, or for want of memory, the log is about another cluster
    auto made = run_on(last);
    if (made && !*made) over_ = false;
    return made;
  }
  result<std::optional<replay_difference>> run_on(std::uint64_t last) {
    using answer = std::optional<replay_difference>;
    while (calls_ < last) {
      auto next = from_.next();
      if (!next) return std::move(next).error();
      if (!*next) return answer{};
      const logged_call& call = **next;
      if (call.kind == digest_kind) {
        bytes here;
        writer{here}.fixed(cluster_.digest(), 8);
        if (auto parted = compare(call, {.arguments = {}, .answer = std::move(here), .words = {}})) return parted;
        continue;
      }
      if (told{call.kind} == told::reserve) {  // no decision depends on it, and a log may ask for anything
        calls_ = call.number;
        continue;
      }
      auto made = make(call);
      if (!made) return std::move(made).error();
      calls_ = call.number;
      auto said = heard_.take();
      if (!said) return damaged(call.number, "cannot be made again");
      if (auto parted = compare(call, *std::move(said))) return parted;
    }
    return answer{};
  }

  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }
  [[nodiscard]] gangsched::cluster& cluster() noexcept { return cluster_; }
  [[nodiscard]] gangsched::scheduler* scheduler() noexcept {
    return schedulers_.empty() ? nullptr : schedulers_.back().get();
  }
  [[nodiscard]] const log_reader& log() const noexcept { return from_; }

  [[nodiscard]] result<forked> take() {
    const char* const why = over_            ? "the replay and its log parted, it failed, or it was taken already"
                            : !open_.empty() ? "a transaction is open"
                            : scheduler() == nullptr ? "no scheduler was made"
                                                     : nullptr;
    if (why != nullptr) return error{errc::wrong_state, "decision log", "", why};
    if (auto told = cluster_.listen(nullptr); !told) return std::move(told).error();
    over_ = true;
    std::unique_ptr<gangsched::scheduler> last = std::move(schedulers_.back());
    schedulers_.clear();
    return forked{std::move(cluster_), std::move(*last)};
  }

 private:
  [[nodiscard]] cluster_options options(const beginning& first) const {
    return {.log_bound = static_cast<std::size_t>(first.log_bound),
            .semantics = first.semantics,
            .device_matcher = setup_.matcher,
            .attempts_after = first.attempts_after,
            .keep_specs = first.keeps_specs};
  }

  [[nodiscard]] std::optional<replay_difference> compare(const logged_call& call, const call_bytes& here) {
    logged_call now = call;
    now.answer = here.answer;
    now.words = here.words;
    if (same_answer(call, now)) return std::nullopt;
    // Names of objects are learned by reading from the beginning.
    auto names = log_reader::open(log_);
    for (std::optional<logged_call> one; names && (!one || one->number < call.number);) {
      auto next = names->next();
      if (!next || !*next) break;
      one = **next;
    }
    const log_reader& words = names ? *names : from_;
    return replay_difference{call, words.text_of(call), words.answer_of(call), words.answer_of(now)};
  }

  [[nodiscard]] result<void> make(const logged_call& call) {
    std::optional<error> wrong;
    const bool function_call = with_call(told{call.kind}, [&]<auto Function>(std::string_view, function<Function>) {
      using object = typename arguments_of_function<decltype(Function)>::object;
      argument_tuple<Function> with;
      if (!read_arguments(call.arguments, with)) return static_cast<void>(wrong = damaged(call.number, "is damaged"));
      const auto on = [&](auto& one) {
        std::apply([&](const auto&... argument) { static_cast<void>((one.*Function)(argument...)); }, with);
      };
      if constexpr (std::is_same_v<object, gangsched::scheduler>) {
        if (call.scheduler == 0 || call.scheduler > schedulers_.size() || !schedulers_[call.scheduler - 1])
          return static_cast<void>(wrong = damaged(call.number, "is of a scheduler that was not made"));
        on(*schedulers_[call.scheduler - 1]);
      } else if constexpr (std::is_same_v<object, cluster_queues>) {
        cluster_queues queues = cluster_.queues();
        on(queues);
      } else {
        on(cluster_);
      }
    });
    if (wrong) return *std::move(wrong);
    if (function_call) return {};
    switch (told{call.kind}) {
      case told::make_scheduler: return make_scheduler(call);
      case told::begin_transaction: open_.push_back(std::make_unique<transaction>(cluster_)); return {};
      case told::commit:
      case told::roll_back:
        if (open_.empty()) return damaged(call.number, "ends a transaction that nobody opened");
        told{call.kind} == told::commit ? open_.back()->commit() : open_.back()->roll_back();
        open_.pop_back();
        return {};
      default: return damaged(call.number, "is no call that there is");
    }
  }

  [[nodiscard]] result<void> make_scheduler(const logged_call& call) {
    scheduler_words with;
    if (!read_all(call.arguments, with) || call.scheduler != schedulers_.size() + 1)
      return damaged(call.number, "is damaged");
    std::vector<kernel_table> profiles;
    if (setup_.profiles) profiles = setup_.profiles(call.scheduler);
    if (auto other = other_profiles(with.profiles, words_of(profiles), "recorded")) return *std::move(other);
    if (auto checked = gangsched::scheduler::check(profiles); !checked) return std::move(checked).error();
    for (std::size_t i = 0; i < schedulers_.size(); ++i) {
      if (last_calls_[i] < call.number) schedulers_[i].reset();
    }
    schedulers_.push_back(std::make_unique<gangsched::scheduler>(cluster_, std::move(profiles), with.options));
    return {};
  }

  std::span<const std::byte> log_;
  replay_setup setup_;
  log_reader from_;
  std::vector<std::uint64_t> last_calls_;  ///< by scheduler
  std::uint64_t calls_ = 0;
  bool over_ = false;  ///< nothing more is made
  answer_catcher heard_;
  gangsched::cluster cluster_;
  std::vector<std::unique_ptr<gangsched::scheduler>> schedulers_;
  std::vector<std::unique_ptr<transaction>> open_;
};

replayer::replayer(std::unique_ptr<replaying> made) noexcept : replaying_(std::move(made)) {}
replayer::replayer(replayer&&) noexcept = default;
replayer& replayer::operator=(replayer&&) noexcept = default;
replayer::~replayer() = default;

result<replayer> replayer::open(std::span<const std::byte> log, replay_setup setup) {
  auto from = log_reader::open(log);
  if (!from) return std::move(from).error();
  const bool matched = from->reading_->first().matches_devices;
  if (matched != (setup.matcher.ask != nullptr))
    return error{errc::wrong_state, "decision log", "device_matcher",
                 matched ? "the recorded cluster had one" : "the recorded cluster had none"};
  auto made = std::make_unique<replaying>(log, std::move(setup), *std::move(from));
  if (auto looked = made->look_ahead(); !looked) return std::move(looked).error();
  return replayer{std::move(made)};
}
result<std::optional<replay_difference>> replayer::run(std::uint64_t last) { return replaying_->run(last); }
std::uint64_t replayer::calls() const noexcept { return replaying_->calls(); }
gangsched::cluster& replayer::cluster() noexcept { return replaying_->cluster(); }
gangsched::scheduler* replayer::scheduler() noexcept { return replaying_->scheduler(); }
const log_reader& replayer::log() const noexcept { return replaying_->log(); }
result<forked> replayer::take() { return replaying_->take(); }

}  // namespace gangsched::inline GANGSCHED_ABI::record
