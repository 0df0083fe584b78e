#include "gangsched/model/class_table.hpp"

#include <algorithm>
#include <functional>

#include "gangsched/core/hash_index.hpp"
#include "gangsched/devices/device_demand.hpp"
#include "gangsched/model/spec.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

struct class_table::impl {
  static std::size_t hash(std::string_view key) noexcept { return std::hash<std::string_view>{}(key); }
  hash_index<class_id> by_key;
  std::vector<class_id> free;
  std::size_t bound = 1024;  ///< the number of classes at which the table is crowded
};

GANGSCHED_INLINE class_table::class_table(undo_log& undo) : pods_(undo), epoch_(undo), impl_(std::make_unique<impl>()) {
  epoch_.grow(1);
}
GANGSCHED_INLINE class_table::~class_table() = default;
GANGSCHED_INLINE class_table& class_table::operator=(const class_table& from) {
  pods_ = from.pods_, epoch_ = from.epoch_, epoch_moves_ = from.epoch_moves_;
  classes_ = from.classes_, generations_ = from.generations_;  // the classes themselves never change
  crowded_ = from.crowded_;
  *impl_ = *from.impl_;
  return *this;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model

namespace gangsched::inline GANGSCHED_ABI::detail {

/// The spec that makes the class again. (Its labels, volumes and controller are those of the first pod.)
GANGSCHED_INLINE std::shared_ptr<const pod_spec> spec_of_class(const pod_class& cls, const pod_spec& said) {
  auto made = std::make_shared<pod_spec>(said);
  made->name = "of-a-class";
  made->topology_spread_constraints = cls.spread;
  made->priority = cls.priority;
  made->priority_class.clear();
  made->preemption = cls.preemption;
  made->scheduling_gates.clear();
  made->group = {}, made->role.clear(), made->rank.reset();
  made->node = made->nominated_node = {}, made->held_devices.clear();
  made->queue.clear();
  made->draws_from = {};
  made->terminating = made->preempted = false;
  made->start_time.reset();
  made->expected_run_time = {};
  made->deadline.reset();
  made->max_wait = {};
  made->cookie = 0;
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE class_id class_table::intern(pod_class&& made, const pod_spec* said) {
  const std::size_t hash = impl::hash(made.key);
  if (const class_id* known = impl_->by_key.find(hash, [&](class_id one) { return classes_[one]->key == made.key; }))
    return *known;
  const bool grows = impl_->free.empty();
  const class_id id = grows ? size() : impl_->free.back();
  if (said != nullptr) made.said = detail::spec_of_class(made, *said);
  auto owned = std::make_shared<const pod_class>(std::move(made));
  if (grows) {
    detail::make_room(classes_);
    generations_.resize(id + 1);
    pods_.grow(id + 1);
  }
  impl_->by_key.insert(hash, id);  // the last step that can fail
  if (grows) {
    classes_.push_back(std::move(owned));
  } else {
    impl_->free.pop_back();
    classes_[id] = std::move(owned);
  }
  crowded_ = impl_->by_key.size() >= impl_->bound;
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

GANGSCHED_INLINE void class_table::sweep() {
  impl_->free.reserve(size());
  for (class_id id = 0; id < size(); ++id) {
    if (classes_[id] == nullptr || pods_[id] != 0) continue;
    impl_->by_key.erase(impl::hash(classes_[id]->key), [id](class_id one) { return one == id; });
    classes_[id].reset();
    ++generations_[id];
    impl_->free.push_back(id);
  }
  impl_->bound = std::max<std::size_t>(1024, 2 * impl_->by_key.size());
  crowded_ = false;
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

}  // namespace gangsched::inline GANGSCHED_ABI::model
