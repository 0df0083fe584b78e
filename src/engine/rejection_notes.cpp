#include "gangsched/engine/rejection_notes.hpp"

#include <map>
#include <utility>

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE saved_notes rejection_notes::save() const {
  saved_notes made;
  std::map<const rejection_words*, std::uint32_t> numbers;
  for (const note& one : by_row_) {
    if (!gangsched::detail::names_pod(*state_, one.of)) continue;
    saved_note& to = made.all.emplace_back(saved_note{one.of, static_cast<std::uint8_t>(one.code), one.plugins, 0});
    if (one.words == nullptr) continue;
    std::uint32_t& number = numbers[one.words.get()];
    if (number == 0) {
      const rejection_words& words = *one.words;
      made.words.push_back({words.reasons, words.nodes, words.group, words.member, words.placed, words.post_filter});
      number = static_cast<std::uint32_t>(made.words.size());
    }
    to.words = number;
  }
  return made;
}

GANGSCHED_INLINE std::optional<error> rejection_notes::restore(const saved_notes& from) {
  std::vector<shared_words> words;
  for (const saved_words& one : from.words) {
    words.push_back(std::make_shared<const rejection_words>(
        rejection_words{one.reasons, static_cast<std::size_t>(one.nodes), one.group, one.member,
                        static_cast<std::size_t>(one.placed), one.post_filter}));
  }
  std::vector<note> made(state_->pods.rows.count());
  for (const saved_note& one : from.all) {
    if (!gangsched::detail::names_pod(*state_, one.pod) || one.code > static_cast<std::uint8_t>(code::pending) ||
        one.words > words.size())
      return model::damaged("notes of rejections");
    made[one.pod.row] = {one.pod, static_cast<code>(one.code), one.plugins,
                         one.words != 0 ? words[one.words - 1] : nullptr};
  }
  by_row_ = std::move(made);
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
