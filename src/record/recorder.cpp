#include "gangsched/record/recorder.hpp"

#include <exception>
#include <utility>

#include "gangsched/src/record/reading.hpp"

namespace gangsched::inline GANGSCHED_ABI::record {

class recorder::writing final : public call_listener {
 public:
  writing(const model::cluster_state& of, recorder_options&& options) : digest_every_(options.digest_every) {
    writer out{done_};
    out.raw(std::as_bytes(std::span{magic.data(), magic.size()}));
    out.fixed(format_version, 4);
    sum_ = checksum(0, done_);
    const cluster_options made = gangsched::detail::options_of(of);
    body_.clear();
    writer body{body_};
    body.byte(beginning_kind);
    put_archive{body}.put(beginning{own_version, std::move(options.about), made.log_bound, made.semantics,
                                    made.device_matcher.ask != nullptr, made.attempts_after, made.keep_specs});
    end_record();
  }

  void called(const told_call& call) noexcept override {
    if (ended_) return;
    try {
      write(call);
    } catch (const std::exception&) {  // for want of memory: what was written whole stays
      ended_ = errc::overflow;
    }
  }
  void ended() noexcept override {
    if (!ended_) ended_ = errc::unknown;
  }

  void write_digest(const model::cluster_state& of) {
    body_.clear();
    writer out{body_};
    out.byte(digest_kind);
    out.fixed(gangsched::detail::digest_of(of), 8);
    end_record();
  }
  [[nodiscard]] bytes take() noexcept { return std::exchange(done_, {}); }
  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }
  [[nodiscard]] std::optional<errc> why_ended() const noexcept { return ended_; }

 private:
  void write(const told_call& call) {
    std::uint32_t number = 0;
    if (call.on != nullptr) {
      if (call.what == told::make_scheduler) schedulers_.push_back(call.on);
      number = static_cast<std::uint32_t>(schedulers_.size());
      while (number > 0 && schedulers_[number - 1] != call.on) --number;  // where an address is used again, the last
      if (number == 0) return static_cast<void>(ended_ = errc::wrong_state);
    }
    if (call.answer == nullptr && !has_no_answer(call.what)) {  // there was no memory for it
      if (call.on != nullptr) ended_ = errc::overflow;          // the scheduler will look at everything anew
      return;                                                   // and nothing came of a call on the cluster
    }
    const call_bytes made = bytes_of_call(call);
    if (refused(made) && !readable(call.what, made.arguments)) return;  // an enumeration beyond its last value, say
    body_.clear();
    writer out{body_};
    out.byte(static_cast<unsigned>(call.what));
    out.number(number);
    for (const bytes* part : {&made.arguments, &made.answer, &made.words}) {
      out.number(part->size());
      out.raw(*part);
    }
    end_record();
    ++calls_;
    if (digest_every_ != 0 && calls_ % digest_every_ == 0) write_digest(*call.of);
  }
  [[nodiscard]] static bool refused(const call_bytes& made) {
    return !made.answer.empty() && made.answer[0] == std::byte{0};
  }
  [[nodiscard]] static bool readable(told what, const bytes& arguments) {
    bool fine = true;
    with_call(what, [&]<auto Function>(std::string_view, function<Function>) {
      argument_tuple<Function> with;
      fine = read_arguments(arguments, with);
    });
    return fine;
  }
  /// All of it or nothing is added to what was written.
  void end_record() {
    bytes size;
    writer{size}.number(body_.size());
    const std::size_t whole = done_.size() + size.size() + size_check_size + body_.size() + checksum_size;
    if (done_.capacity() < whole) done_.reserve(2 * whole);
    writer out{done_};
    out.raw(size);
    out.fixed(checksum(sum_, size), size_check_size);
    out.raw(body_);
    sum_ = checksum(sum_, body_);
    out.fixed(sum_, checksum_size);
  }

  bytes done_, body_;
  std::uint64_t sum_ = 0, calls_ = 0;
  std::uint32_t digest_every_;
  std::vector<const void*> schedulers_;
  std::optional<errc> ended_;
};

recorder::recorder(std::unique_ptr<writing> made) noexcept : writing_(std::move(made)) {}
recorder::recorder(recorder&&) noexcept = default;
recorder& recorder::operator=(recorder&&) noexcept = default;
recorder::~recorder() = default;

result<recorder> recorder::start(gangsched::cluster& on, recorder_options options) {
  // Once the cluster has the listener, starting must not be refused any more, nor fail: that comes last.
  const model::cluster_state& state = gangsched::detail::state_of(on);
  if (!gangsched::detail::is_new(state))
    return error{errc::wrong_state, "cluster", "", "something was done to it before the recording began"};
  auto made = std::make_unique<writing>(state, std::move(options));
  if (auto told = on.listen(made.get()); !told) return std::move(told).error();
  return recorder{std::move(made)};
}

std::vector<std::byte> recorder::take() { return writing_->take(); }
std::uint64_t recorder::calls() const noexcept { return writing_->calls(); }

result<void> recorder::write_digest() {
  if (const auto why = ended()) return *why;
  writing_->write_digest(*writing_->told_of());
  return {};
}

std::optional<error> recorder::ended() const {
  const std::optional<errc> why = writing_->why_ended();
  if (!why) return std::nullopt;
  const char* const text = *why == errc::unknown ? "the cluster is gone, or tells somebody else"
                           : *why == errc::wrong_state
                               ? "a scheduler was called that was made before the recording began"
                               : "there was no memory for a call, or to write it down";
  return error{*why, "decision log", "", text};
}

}  // namespace gangsched::inline GANGSCHED_ABI::record
