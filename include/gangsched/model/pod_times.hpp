#pragma once
#include "gangsched/core/hash.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/model/column.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

/// When pods with an expected run time started, and from when on nodes are reserved for waiting pods. By pod row, up to the last row that
/// needed a word, so that clusters which use neither pay nothing.
class pod_times {
 public:
  explicit pod_times(undo_log& undo) : started_(undo, never.count()), reserved_from_(undo, never.count()) {}
  pod_times& operator=(const pod_times& from) {
    started_ = from.started_, reserved_from_ = from.reserved_from_;
    rows_ = from.rows_;
    return *this;
  }

  static constexpr instant never = instant::max();
  /// Reserved, but the time is being computed again: until then the reservation blocks no pod.
  static constexpr instant unknown_yet = instant::max() - instant{1};

  /// Not set yet.
  [[nodiscard]] bool empty() const noexcept { return rows_ == 0; }
  /// When a scheduler assigned the pod to its node; `never` if that is unknown.
  [[nodiscard]] instant started(row_t pod) const noexcept { return of(started_, pod); }
  /// When the node that the pod is nominated to is expected to have room for it; `never` if it is not reserved.
  [[nodiscard]] instant reserved_from(row_t pod) const noexcept { return of(reserved_from_, pod); }
  void set_started(row_t pod, instant when) { set(started_, pod, when); }
  void set_reserved_from(row_t pod, instant when) { set(reserved_from_, pod, when); }
  void forget(row_t pod) { set_started(pod, never), set_reserved_from(pod, never); }

  /// Of one pod; nothing if nothing is set.
  void digest_into(digest& out, row_t pod) const {
    if (started(pod) == never && reserved_from(pod) == never) return;
    out.add(std::uint64_t{pod});
    out.add(detail::to_word(started_[pod])), out.add(detail::to_word(reserved_from_[pod]));
  }

 private:
  using nanoseconds = column<std::int64_t>;
  [[nodiscard]] instant of(const nanoseconds& words, row_t pod) const noexcept {
    return pod < rows_ ? instant{words[pod]} : never;
  }
  void set(nanoseconds& words, row_t pod, instant when) {
    if (pod >= rows_) {
      if (when == never) return;
      started_.grow(pod + 1), reserved_from_.grow(pod + 1);
      rows_ = pod + 1;
    }
    if (words[pod] != when.count()) words.set(pod, when.count());
  }

  nanoseconds started_, reserved_from_;
  row_t rows_ = 0;  ///< that have words
};

}  // namespace gangsched::inline GANGSCHED_ABI::model
