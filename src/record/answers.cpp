#include "gangsched/src/record/answers.hpp"

namespace gangsched::inline GANGSCHED_ABI::record {
namespace {

/// As the hooks in the calls take their addresses: each argument by its own type, without references.
template <class Object, class Answer, class... Arguments, std::size_t... At>
void put_call(const told_call& call, call_bytes& made, std::vector<std::string>& words,
              Answer (Object::*)(Arguments...), std::index_sequence<At...>) {
  writer arguments{made.arguments}, answer{made.answer};
  put_archive to{arguments};
  (to.put(*static_cast<const std::remove_cvref_t<Arguments>*>(call.arguments[At])), ...);
  put_answer(answer, words, *call.of, *static_cast<const Answer*>(call.answer));
}

template <class Object, class Answer, class... Arguments>
void put_call(const told_call& call, call_bytes& made, std::vector<std::string>& words,
              Answer (Object::*which)(Arguments...)) {
  put_call(call, made, words, which, std::index_sequence_for<Arguments...>{});
}

}  // namespace

call_bytes bytes_of_call(const told_call& call) {
  call_bytes made;
  std::vector<std::string> words;
  with_call(call.what,
            [&]<auto Function>(std::string_view, function<Function>) { put_call(call, made, words, Function); });
  if (call.what == told::make_scheduler) {
    const auto& profiles = *static_cast<const std::span<const kernel_table>*>(call.arguments[0]);
    made.arguments =
        bytes_of(scheduler_words{words_of(profiles), *static_cast<const scheduler_options*>(call.arguments[1])});
  }
  made.words = bytes_of(words);
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::record
