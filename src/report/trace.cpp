#include "gangsched/report/trace.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/model/cluster.hpp"

namespace gangsched::inline GANGSCHED_ABI::report {

namespace detail {

/// Text that is kept without asking for memory: what is too long for it loses its end, by whole characters.
template <std::size_t Size>
class short_text {
 public:
  void clear() noexcept { size_ = 0; }
  void append(std::string_view text) noexcept {
    std::size_t fits = std::min(text.size(), Size - size_);
    while (fits < text.size() && fits > 0 && (static_cast<unsigned char>(text[fits]) & 0xc0u) == 0x80u) --fits;
    std::copy_n(text.data(), fits, text_.data() + size_);
    size_ += static_cast<std::uint8_t>(fits);
  }
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  static_assert(Size < 256);
  std::uint8_t size_ = 0;
  std::array<char, Size> text_;
};

enum class trace_phase : std::uint8_t { slice, mark, curve };

struct trace_record {
  trace_phase what = trace_phase::slice;
  bool of_hook = false;
  std::uint64_t begin = 0, length = 0;  ///< ns
  std::string_view name;                ///< static storage; "" if it is in `said`
  std::string_view result;              ///< static storage
  std::uint32_t attempts = 0;
  std::array<std::uint32_t, 4> counts{};
  short_text<71> who;   ///< "default/web-0"; of a hook "NodeResourcesFit"
  short_text<47> node;  ///< where it goes
};

}  // namespace detail

namespace {

using phase = detail::trace_phase;
using record = detail::trace_record;

std::string_view step_word(const observed_step& step) {
  switch (step.kind) {
    case step_kind::event:
    case step_kind::timer: return step.event;
    case step_kind::waits: return "permit room";
    case step_kind::attempt: return "attempt";
    case step_kind::popped: return "pop";
    case step_kind::returned: return "returned";
    case step_kind::answer: return "answer";
  }
  return "";
}

std::string_view outcome_word(attempt_result result) {
  switch (result) {
    case attempt_result::none: return "";
    case attempt_result::placed: return "placed";
    case attempt_result::unschedulable: return "unschedulable";
    case attempt_result::waiting_on_preemption: return "waiting_on_preemption";
    case attempt_result::error: return "error";
    case attempt_result::bound: return "bound";
  }
  return "";
}

/// As a JSON string; bytes that are no UTF-8 become U+FFFD.
void append_json(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      if (c == '"' || c == '\\') {
        out += '\\';
        out += text[i];
      } else if (c < 0x20) {
        std::array<char, 8> code{};
        std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
        out += code.data();
      } else {
        out += text[i];
      }
      ++i;
      continue;
    }
    const std::size_t length = c >= 0xf0 && c < 0xf5 ? 4 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xc2 && c < 0xe0 ? 2 : 0;
    bool whole = length != 0 && i + length <= text.size();
    for (std::size_t k = 1; whole && k < length; ++k)
      whole = (static_cast<unsigned char>(text[i + k]) & 0xc0u) == 0x80u;
    if (whole && length > 2) {  // no surrogates, nothing overlong, nothing beyond U+10FFFF
      const auto second = static_cast<unsigned char>(text[i + 1]);
      whole = !(c == 0xe0 && second < 0xa0) && !(c == 0xed && second > 0x9f) && !(c == 0xf0 && second < 0x90) &&
              !(c == 0xf4 && second > 0x8f);
    }
    if (whole)
      out += text.substr(i, length);
    else
      out += "\xef\xbf\xbd";
    i += whole ? length : 1;
  }
  out += '"';
}

/// Microseconds with three places behind the point.
void append_micros(std::string& out, std::uint64_t ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%llu.%03llu", static_cast<unsigned long long>(ns / 1000),
                static_cast<unsigned long long>(ns % 1000));
  out += text.data();
}

}  // namespace

struct trace::state {
  state(const cluster& of, const trace_options& how) : on(&of), clock(how.clock) {
    if (how.records > ring.max_size()) throw std::bad_alloc{};  // as for the next smaller number, not std::length_error
    ring.resize(std::max<std::size_t>(how.records, 1));
  }
  /// The next one to write; what it was before is gone.
  record& next(phase what, std::uint64_t begin, std::uint64_t length, std::string_view name) noexcept {
    record& made = ring[written++ % ring.size()];
    made.what = what;
    made.of_hook = false;
    made.begin = begin;
    made.length = length;
    made.name = name;
    made.result = {};
    made.attempts = 0;
    made.who.clear();
    made.node.clear();
    return made;
  }
  void name(record& to, pod_id pod) const {
    to.who.append(on->namespace_of(pod));
    to.who.append("/");
    to.who.append(on->name_of(pod));
  }
  void write(std::string& out, const record& of) const;

  const cluster* on;
  report::clock clock;
  std::vector<record> ring;
  std::uint64_t written = 0;
  std::array<std::uint32_t, 4> counts{};
};

trace::trace(const cluster& on, const trace_options& options) : state_(std::make_unique<state>(on, options)) {}
trace::~trace() = default;

std::uint64_t trace::now_ns() noexcept { return state_->clock == nullptr ? 0 : state_->clock(); }
std::uint64_t trace::dropped() const noexcept {
  return state_->written - std::min<std::uint64_t>(state_->written, state_->ring.size());
}

void trace::hook_ran(const observed_hook& what) noexcept {
  if (!what.measured || what.took.end == 0) return;
  record& made = state_->next(phase::slice, what.took.begin, what.took.length(), what.extension_point);
  made.of_hook = true;
  made.who.append(what.plugin);
}

void trace::called(const observed_call& what) {
  state& to = *state_;
  const bool timed = what.took.end != 0;
  const auto host_time = static_cast<std::uint64_t>(std::max<std::int64_t>(what.now.count(), 0));
  const auto begin_of = [&](const measured_span& took) { return timed ? took.begin : host_time; };
  to.next(phase::slice, begin_of(what.took), what.took.length(), to_string(what.what));
  for (const observed_step& step : what.steps) {
    record& made = to.next(phase::slice, begin_of(step.took), step.took.length(), step_word(step));
    made.result = outcome_word(step.result);
    made.attempts = step.attempts;
    if (step.group) {
      made.who.append(to.on->name_of(step.group));
    } else if (step.pod) {
      to.name(made, step.pod);
    }
    const auto placed = std::find_if(step.decisions.begin(), step.decisions.end(), [](const decision& one) {
      return one.kind == decision_kind::bind || one.kind == decision_kind::wait || one.kind == decision_kind::nominate;
    });
    if (!step.group && placed != step.decisions.end()) made.node.append(to.on->name_of(placed->node));
    // Nothing is written into `made` from here on: the ring may be so short that a mark takes its place.
    const std::uint64_t at = timed ? step.took.end : host_time;
    for (const decision& one : step.decisions) {
      if (one.kind != decision_kind::evict && one.kind != decision_kind::revoke) continue;
      record& mark = to.next(phase::mark, at, 0, to_string(one.kind));
      to.name(mark, one.pod);
      mark.node.append(to.on->name_of(one.node));
    }
  }
  const std::array<std::uint32_t, 4> counts{
      static_cast<std::uint32_t>(what.counts.active), static_cast<std::uint32_t>(what.counts.backoff),
      static_cast<std::uint32_t>(what.counts.unschedulable), static_cast<std::uint32_t>(what.counts.gated)};
  if (counts == to.counts) return;
  to.counts = counts;
  to.next(phase::curve, timed ? what.took.end : host_time, 0, "pending").counts = counts;
}

void trace::state::write(std::string& out, const record& of) const {
  out += "{\"pid\":1,\"tid\":1,\"ts\":";
  append_micros(out, of.begin);
  std::string name{of.name};
  if (of.of_hook) (name += ' ') += of.who.view();
  out += ",\"name\":";
  append_json(out, name);
  if (of.what == phase::curve) {
    constexpr std::array<std::string_view, 4> places{"active", "backoff", "unschedulable", "gated"};
    out += ",\"ph\":\"C\",\"args\":{";
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (i != 0) out += ',';
      append_json(out, places[i]);
      (out += ':') += std::to_string(of.counts[i]);
    }
    out += "}}";
    return;
  }
  if (of.what == phase::mark) {
    out += ",\"ph\":\"i\",\"s\":\"t\"";
  } else {
    out += ",\"ph\":\"X\",\"dur\":";
    append_micros(out, of.length);
  }
  out += of.of_hook ? ",\"cat\":\"hook\"" : ",\"cat\":\"scheduler\"";
  out += ",\"args\":{";
  bool first = true;
  const auto argument = [&](std::string_view key, std::string_view text) {
    if (text.empty()) return;
    if (!std::exchange(first, false)) out += ',';
    append_json(out, key);
    out += ':';
    append_json(out, text);
  };
  argument(of.of_hook ? "plugin" : "object", of.who.view());
  argument("node", of.node.view());
  argument("result", of.result);
  if (of.attempts != 0) argument("attempts", std::to_string(of.attempts));
  out += "}}";
}

std::string trace::json() const {
  const state& from = *state_;
  std::string out = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":" + std::to_string(dropped()) +
                    "},\"traceEvents\":[\n"
                    "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"gangsched\"}},\n"
                    "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"scheduler\"}}";
  for (std::uint64_t i = dropped(); i < from.written; ++i) {
    out += ",\n";
    from.write(out, from.ring[static_cast<std::size_t>(i % from.ring.size())]);
  }
  out += "\n]}\n";
  return out;
}

}  // namespace gangsched::inline GANGSCHED_ABI::report
