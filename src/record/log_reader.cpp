#include "gangsched/record/log_reader.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/src/record/reading.hpp"

namespace gangsched::inline GANGSCHED_ABI::record {

namespace {

[[nodiscard]] error no_log(const char* why) { return {errc::malformed, "decision log", "", why}; }

[[nodiscard]] std::string named(const std::string& ns, const std::string& name) {
  return ns == "default" ? name : ns + "/" + name;
}

/// What the call @p what made is called, for those calls that make something.
template <class Answer, class Spec>
void learn_name(object_names& names, const Answer& made, const Spec& spec) {
  if constexpr (requires { spec.ns; })
    names.learn(made, named(spec.ns, spec.name));
  else
    names.learn(made, spec.name);
}

}  // namespace

result<std::optional<std::span<const std::byte>>> log_reader::reading::next_record() {
  using record = std::optional<std::span<const std::byte>>;
  reader in{log_.subspan(at_)};
  if (in.done()) return record{};
  const std::uint64_t size = in.number();
  const std::span<const std::byte> as_written = log_.subspan(at_, in.at());
  if (!in.good() && log_.size() - at_ < 10) return cut_off_ = true, record{};
  if (in.good() && log_.size() - at_ - in.at() < size_check_size) return cut_off_ = true, record{};
  // Otherwise a damaged size would look as if the log ended within the record.
  const bool right = in.good() && in.fixed(size_check_size) == (checksum(sum_, as_written) & 0xffffu);
  if (!right || size > largest_record) return damaged(calls_ + 1, "is damaged");
  const std::size_t left = log_.size() - at_ - in.at();
  if (left < checksum_size || left - checksum_size < size) return cut_off_ = true, record{};
  const std::span<const std::byte> body = in.raw(static_cast<std::size_t>(size));
  const std::uint64_t sum = checksum(sum_, body);
  if (in.fixed(checksum_size) != (sum & 0xffffffffu)) return damaged(calls_ + 1, "is damaged");
  sum_ = sum;
  at_ += in.at();
  return record{body};
}

result<void> log_reader::reading::begin() {
  reader in{log_};
  const std::span<const std::byte> letters = in.raw(magic.size());
  if (!std::ranges::equal(letters, std::as_bytes(std::span{magic.data(), magic.size()})))
    return no_log("is no decision log");
  const std::uint64_t version = in.fixed(4);
  if (!in.good()) return no_log("ends in the middle of its beginning");
  if (version != format_version) return no_log("is of another version of the format");
  at_ = in.at();
  sum_ = checksum(0, log_.first(at_));
  auto body = next_record();
  if (!body) return no_log("is damaged at its beginning");
  if (!*body) return no_log("ends in the middle of its beginning");
  if ((*body)->empty() || (*body)->front() != std::byte{beginning_kind} || !read_all((*body)->subspan(1), first_))
    return no_log("is damaged at its beginning");
  if (first_.log_bound > cluster_options::most_log_bound)
    return error{errc::malformed, "decision log", "log_bound", "is more than 2^40"};
  return {};
}

result<std::optional<logged_call>> log_reader::reading::next() {
  auto body = next_record();
  if (!body) return std::move(body).error();
  if (!*body) return std::optional<logged_call>{};
  reader in{**body};
  logged_call made;
  made.kind = static_cast<std::uint8_t>(in.byte());
  made.number = calls_;
  if (made.kind == digest_kind) {
    made.name = "digest";
    made.answer = in.raw(8);
    if (!in.good() || !in.done()) return damaged(calls_, "has a damaged digest");
    return std::optional{made};
  }
  made.number = ++calls_;
  const std::uint64_t scheduler = in.number();
  made.scheduler = static_cast<std::uint32_t>(scheduler);
  for (auto* part : {&made.arguments, &made.answer, &made.words}) *part = in.raw(in.count());
  const told what{made.kind};
  const bool known =
      with_call(what, [&]<auto Function>(std::string_view name, function<Function>) { made.name = name; });
  if (!known) {
    switch (what) {
      case told::make_scheduler: made.name = "make_scheduler"; break;
      case told::begin_transaction: made.name = "begin_transaction"; break;
      case told::commit: made.name = "commit"; break;
      case told::roll_back: made.name = "roll_back"; break;
      default: return damaged(calls_, "is no call that there is");
    }
  }
  if (!in.good() || !in.done() || scheduler != made.scheduler) return damaged(calls_, "is damaged");
  if (learns_) learn(made);
  return std::optional{made};
}

void log_reader::reading::learn(const logged_call& call) {
  with_call(told{call.kind}, [&]<auto Function>(std::string_view, function<Function>) {
    using arguments = argument_tuple<Function>;
    using answer = answer_type<Function>;
    if constexpr (!std::is_same_v<answer, cycle> && std::tuple_size_v<arguments> > 0) {
      using made = typename answered<answer>::type;
      if constexpr (requires(const made& a, const std::tuple_element_t<0, arguments>& spec) {
                      names_.learn(a, spec.name);
                    }) {
        std::pair<bool, made> said;
        arguments with;
        reader in{call.answer};
        get_archive from{in};
        from.get(said.first);
        if (said.first) from.get(said.second);
        if (said.first && in.good() && read_arguments(call.arguments, with))
          learn_name(names_, said.second, std::get<0>(with));
      }
    }
    if (call.kind == static_cast<std::uint8_t>(told::add_pods)) {
      std::tuple<pod_spec, std::vector<std::string>> with;
      reader in{call.answer};
      get_archive from{in};
      bool fine = false;
      std::vector<pod_id> pods;
      from.get(fine), from.get(pods);
      if (!fine || !in.good() || !read_arguments(call.arguments, with)) return;
      const std::vector<std::string>& names = std::get<1>(with);
      for (std::size_t i = 0; i < std::min(pods.size(), names.size()); ++i)
        names_.learn(pods[i], named(std::get<0>(with).ns, names[i]));
    }
    if (call.kind == static_cast<std::uint8_t>(told::expect_group)) {
      std::tuple<std::string, std::string, bool> with;
      reader in{call.answer};
      get_archive from{in};
      bool fine = false;
      group_id group;
      from.get(fine), from.get(group);
      if (fine && in.good() && read_arguments(call.arguments, with))
        names_.learn(group, named(std::get<0>(with), std::get<1>(with)));
    }
  });
}

std::string log_reader::reading::text_of(const logged_call& call) const {
  text_archive out{names_};
  if (call.scheduler > 1) out.text() += "scheduler " + std::to_string(call.scheduler) + ": ";
  out.text() += call.name;
  with_call(told{call.kind}, [&]<auto Function>(std::string_view, function<Function>) {
    argument_tuple<Function> with;
    if (!read_arguments(call.arguments, with)) return static_cast<void>(out.text() += " (damaged)");
    const char* before = " ";
    std::apply([&](const auto&... one) { ((out.text() += std::exchange(before, ", "), out.say(one)), ...); }, with);
  });
  if (told{call.kind} == told::make_scheduler) {
    scheduler_words with;
    if (!read_all(call.arguments, with)) return out.text() += " (damaged)";
    for (const profile_words& profile : with.profiles) out.text() += " " + profile.scheduler_name;
    out.text() += ' ';
    out.say(with.options);
  }
  return std::move(out.text());
}

std::string log_reader::reading::answer_of(const logged_call& call) const {
  text_archive out{names_};
  if (call.kind == digest_kind) {
    reader in{call.answer};
    std::array<char, 16> digits{};
    const auto [end, wrong] = std::to_chars(digits.data(), digits.data() + digits.size(), in.fixed(8), 16);
    return std::string{digits.data(), end};
  }
  std::vector<std::string> words;
  static_cast<void>(read_all(call.words, words));
  const auto word = [&](std::size_t nth) {
    if (nth < words.size() && !words[nth].empty()) out.text() += " (" + words[nth] + ")";
  };
  with_call(told{call.kind}, [&]<auto Function>(std::string_view, function<Function>) {
    using answer = answer_type<Function>;
    reader in{call.answer};
    get_archive from{in};
    if constexpr (std::is_same_v<answer, cycle>) {
      logged_cycle said;
      from.get(said);
      if (!in.good()) return static_cast<void>(out.text() += "(damaged)");
      std::size_t nth = 0;
      if (said.refused) {
        (out.text() += "refused: ") += to_string(*said.refused);
        word(nth++);
      }
      if (!said.refused && said.decisions.empty()) out.text() += said.worked ? "nothing decided" : "nothing to do";
      for (const logged_decision& one : said.decisions) {
        if (!out.text().empty()) out.text() += "; ";
        (out.text() += to_string(one.kind)) += ' ';
        out.say(one.pod);
        if (one.node) out.text() += " on ", out.say(one.node);
        if (one.score != 0) out.text() += ", score " + std::to_string(one.score);
        if (one.attempt != bind_attempt::none)
          out.text() += ", attempt " + std::to_string(static_cast<std::uint64_t>(one.attempt));
        if (!one.devices.empty()) out.text() += ", devices ", out.say(one.devices);
        word(nth++);
      }
    } else {
      using made = typename answered<answer>::type;
      bool fine = false;
      from.get(fine);
      if (!fine) {
        errc why{};
        from.get(why);
        (out.text() += "refused: ") += to_string(why);
        word(0);
      } else if constexpr (std::is_void_v<made> || std::is_same_v<made, nothing>) {
        out.text() += "done";
      } else {
        made value;
        from.get(value);
        out.say(value);
      }
    }
  });
  return std::move(out.text());
}

log_reader::log_reader(std::unique_ptr<reading> made) noexcept : reading_(std::move(made)) {}
log_reader::log_reader(log_reader&&) noexcept = default;
log_reader& log_reader::operator=(log_reader&&) noexcept = default;
log_reader::~log_reader() = default;

result<log_reader> log_reader::open(std::span<const std::byte> log) {
  auto made = std::make_unique<reading>(log);
  if (auto begun = made->begin(); !begun) return std::move(begun).error();
  return log_reader{std::move(made)};
}
result<std::optional<logged_call>> log_reader::next() { return reading_->next(); }
bool log_reader::cut_off() const noexcept { return reading_->cut_off(); }
std::string_view log_reader::about() const noexcept { return reading_->first().about; }
std::string_view log_reader::version() const noexcept { return reading_->first().version; }
std::string log_reader::text_of(const logged_call& call) const { return reading_->text_of(call); }
std::string log_reader::answer_of(const logged_call& call) const { return reading_->answer_of(call); }

bool same_call(const logged_call& a, const logged_call& b) noexcept {
  return a.kind == b.kind && a.scheduler == b.scheduler && std::ranges::equal(a.arguments, b.arguments);
}
bool same_answer(const logged_call& a, const logged_call& b) noexcept { return std::ranges::equal(a.answer, b.answer); }

}  // namespace gangsched::inline GANGSCHED_ABI::record
