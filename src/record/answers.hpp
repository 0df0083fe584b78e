#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gangsched/model/call_listener.hpp"
#include "gangsched/src/record/calls.hpp"
#include "gangsched/src/record/frames.hpp"

/// What came of a call, as it stands in a log: numbers, which are compared, and words, which are shown.
namespace gangsched::inline GANGSCHED_ABI::record {

struct logged_grant {
  device_grant::form kind = device_grant::form::gpu;
  std::uint8_t request = 0;
  std::uint16_t device = 0;
  std::int32_t milli = 0;
  std::int32_t mig_start = -1;
  std::string mig_profile = {};
  std::int64_t amount = 0;
};
GANGSCHED_FIELDS(logged_grant, kind, request, device, milli, mig_start, mig_profile, amount);

/// A `decision` without its words.
struct logged_decision {
  decision_kind kind = decision_kind::bind;
  std::uint8_t code = 0;
  pod_id pod = {};
  node_id node = {};
  group_id group = {};
  std::uint64_t pod_cookie = 0;
  std::uint64_t node_cookie = 0;
  std::int32_t rank = -1;
  std::int64_t score = 0;
  std::uint64_t annotation = 0;
  bind_attempt attempt = bind_attempt::none;
  std::vector<logged_grant> devices = {};
};
GANGSCHED_FIELDS(logged_decision, kind, code, pod, node, group, pod_cookie, node_cookie, rank, score, annotation,
                 attempt, devices);

struct logged_cycle {
  bool worked = false;
  std::optional<errc> refused = {};
  std::vector<logged_decision> decisions = {};
};
GANGSCHED_FIELDS(logged_cycle, worked, refused, decisions);

/// What a call of each type answers, as it is read back.
template <class Answer>
struct answered;
template <class T>
struct answered<result<T>> {
  using type = T;
};
template <>
struct answered<cycle> {
  using type = logged_cycle;
};
/// The number of a class of pods means nothing elsewhere: it is not written down.
struct nothing {};
template <>
struct answered<result<std::uint32_t>> {
  using type = nothing;
};

template <class Function>
struct answer_of_function;
template <class Object, class Answer, class... Arguments>
struct answer_of_function<Answer (Object::*)(Arguments...)> {
  using type = Answer;
};
template <auto Function>
using answer_type = typename answer_of_function<decltype(Function)>::type;

template <class T>
void put_answer(writer& out, std::vector<std::string>& words, const model::cluster_state&, const result<T>& answer) {
  put_archive to{out};
  to.put(answer.has_value());
  if (!answer) {
    to.put(answer.error().code);
    words.push_back(answer.error().message());
  } else if constexpr (!std::is_void_v<T> && !std::is_same_v<T, std::uint32_t>) {
    to.put(*answer);
  }
}

inline void put_answer(writer& out, std::vector<std::string>& words, const model::cluster_state& of,
                       const cycle& answer) {
  logged_cycle made{.worked = static_cast<bool>(answer)};
  if (answer.error() != nullptr) {
    made.refused = answer.error()->code;
    words.push_back(answer.error()->message());
  }
  for (const decision& one : answer.decisions()) {
    logged_decision& as = made.decisions.emplace_back(logged_decision{one.kind,
                                                                      static_cast<std::uint8_t>(one.code),
                                                                      one.pod,
                                                                      one.node,
                                                                      one.group,
                                                                      one.pod_cookie,
                                                                      one.node_cookie,
                                                                      one.rank,
                                                                      one.score,
                                                                      one.annotation,
                                                                      one.attempt,
                                                                      {}});
    for (const device_grant& grant : one.devices) {
      as.devices.push_back({grant.kind, grant.request, grant.device, grant.milli, grant.mig_start,
                            std::string{gangsched::detail::text_of(of, grant.mig_profile)}, grant.amount});
    }
    words.emplace_back(one.reason == nullptr ? "" : one.reason);
  }
  put_archive{out}.put(made);
}

/// Arguments, answer and words of a call.
struct call_bytes {
  bytes arguments, answer, words;
};
/// @pre the call has an answer, or is of a kind that has none
[[nodiscard]] call_bytes bytes_of_call(const told_call& call);
/// Whether calls of the kind return nothing: of any other, that there is no answer means that it threw.
[[nodiscard]] inline bool has_no_answer(told what) noexcept {
  return what == told::begin_transaction || what == told::commit || what == told::roll_back ||
         what == told::make_scheduler;
}

}  // namespace gangsched::inline GANGSCHED_ABI::record
