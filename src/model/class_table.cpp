#include "gangsched/model/class_table.hpp"

#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "gangsched/model/canonical.hpp"

namespace gangsched {

struct class_table::impl {
  struct hash {
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  absl::flat_hash_map<std::string_view, class_id, hash, std::equal_to<std::string_view>> by_key;  // into pod_class::key
  std::vector<class_id> free;
  std::size_t sweep_at = 1024;
};

GANGSCHED_INLINE class_table::class_table(undo_log& undo)
    : pods_(undo), epoch_(undo), impl_(std::make_unique<impl>()) {
  epoch_.grow(1);
}
GANGSCHED_INLINE class_table::~class_table() = default;

GANGSCHED_INLINE class_id class_table::intern(pod_class&& made) {
  if (const auto found = impl_->by_key.find(made.key); found != impl_->by_key.end()) return found->second;
  class_id id = size();
  auto owned = std::make_shared<const pod_class>(std::move(made));
  const std::string_view key = owned->key;
  if (impl_->free.empty()) {
    classes_.push_back(std::move(owned));
    generations_.push_back(0);
    pods_.grow(id + 1);
  } else {
    id = impl_->free.back();
    impl_->free.pop_back();
    classes_[id] = std::move(owned);
  }
  impl_->by_key.emplace(key, id);
  return id;
}

GANGSCHED_INLINE bool class_table::add_pod(class_id id) {
  pods_.set(id, pods_[id] + 1);
  return pods_[id] == 1;
}

GANGSCHED_INLINE bool class_table::remove_pod(class_id id) {
  pods_.set(id, pods_[id] - 1);
  return pods_[id] == 0;
}

GANGSCHED_INLINE std::size_t class_table::known() const noexcept { return impl_->by_key.size(); }

GANGSCHED_INLINE void class_table::sweep(bool all) {
  if (impl_->by_key.size() < impl_->sweep_at && !all) return;
  for (class_id id = 0; id < size(); ++id) {
    if (classes_[id] == nullptr || pods_[id] != 0) continue;
    impl_->by_key.erase(classes_[id]->key);
    classes_[id].reset();
    ++generations_[id];
    impl_->free.push_back(id);
  }
  impl_->sweep_at = std::max<std::size_t>(1024, 2 * impl_->by_key.size());
}

GANGSCHED_INLINE void class_table::digest_into(digest& out, const std::vector<std::uint64_t>& of) const {
  std::uint64_t sum = 0;
  for (class_id id = 0; id < size(); ++id) {
    if (classes_[id] == nullptr || pods_[id] == 0) continue;
    digest one;
    one.add(of[id]);
    one.add(pods_[id]);
    sum += one.value();
  }
  out.add(sum);
  out.add(epoch());
}

GANGSCHED_INLINE bool matches(const label_selector& selector, const label_map& labels) {
  for (const auto& [key, value] : selector.match_labels) {
    const auto found = labels.find(key);
    if (found == labels.end() || found->second != value) return false;
  }
  for (const selector_requirement& want : selector.match_expressions) {
    const auto found = labels.find(want.key);
    const bool present = found != labels.end();
    const bool listed = present && std::find(want.values.begin(), want.values.end(), found->second) != want.values.end();
    switch (want.op) {
      case selector_operator::in: if (!listed) return false; break;
      case selector_operator::not_in: if (listed) return false; break;
      case selector_operator::exists: if (!present) return false; break;
      case selector_operator::does_not_exist: if (present) return false; break;
      default: return false;
    }
  }
  return true;
}

}  // namespace gangsched
