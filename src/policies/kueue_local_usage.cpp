#include "gangsched/policies/kueue_local_usage.hpp"

#include <bit>
#include <cmath>

#include "gangsched/core/make_room.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/inside.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE kueue_local_usage::kueue_local_usage(options chosen) : options_(std::move(chosen)) {
  quotas_.by_local_usage = options_.queues;
}

GANGSCHED_INLINE result<void> kueue_local_usage::set(queues::kueue::local_queue_spec spec) {
  const std::string object = "local queue " + spec.queue + "/" + spec.name;
  if (!std::isfinite(spec.weight)) return error{errc::out_of_range, object, "weight", "is no number"};
  for (const auto& [name, amount] : spec.consumed)
    if (!std::isfinite(amount) || amount < 0)
      return error{errc::out_of_range, object, "consumed " + name, "has to be finite and at least 0"};
  said_.push_back({std::move(spec)});
  return {};
}

GANGSCHED_INLINE queues::kueue::local_queue_spec kueue_local_usage::spec_of(local_index local) const {
  queues::kueue::local_queue_spec made;
  made.queue = names_[local].first, made.name = names_[local].second, made.weight = weights_[local];
  const queues::kueue::configuration& all = quotas_.all();
  for (queues::kueue::resource_index which = 0; which < all.resource_count(); ++which)
    if (const double consumed = usage_->consumed(local, which); consumed > 0)
      made.consumed[all.resource(which)] = consumed;
  return made;
}

GANGSCHED_INLINE std::vector<queues::kueue::local_queue_spec> kueue_local_usage::local_queues() const {
  std::vector<queues::kueue::local_queue_spec> made;
  for (local_index local = 0; local < names_.size(); ++local)
    if (usage_->has(local)) made.push_back(spec_of(local));
  for (const waiting& one : said_) made.push_back(one.spec);
  return made;
}

GANGSCHED_INLINE kueue_local_usage::local_index kueue_local_usage::find_or_add(queues::queue_index queue,
                                                                               std::string_view ns) {
  if (const auto known = usage_->find(queue, ns)) return *known;
  queue_and_space name{quotas_.all().name(queue), ns};
  detail::make_room(names_);
  detail::make_room(weights_);
  detail::make_room(written_);
  detail::make_room(gone_);
  const local_index local = usage_->find_or_add(queue, ns);
  if (local == names_.size()) {  // there is room, so that all have the same length, come what may
    names_.emplace_back();
    weights_.emplace_back();
    written_.emplace_back();
  } else if (!names_[local].first.empty()) {
    gone_.push_back(std::move(names_[local]));
  }
  names_[local] = std::move(name);
  weights_[local] = 1;
  written_[local].reset();
  return local;
}

/// The arithmetic goes by queues and resources as they were numbered: what it knows is told to one of the new numbers.
GANGSCHED_INLINE void kueue_local_usage::begin_anew(const cluster_view& of, instant now) {
  std::vector<waiting> said;
  for (local_index local = 0; local < names_.size(); ++local) {
    if (!usage_->has(local)) continue;
    usage_->sample_one(local, now);
    said.push_back({spec_of(local), now});
  }
  for (waiting one : said_) {  // of queues that are not there: their past is forgotten, too
    const instant waited = elapsed(one.since.value_or(now), now);
    for (auto& [name, consumed] : one.spec.consumed)
      consumed = queues::kueue::local_usage::left_of(consumed, options_.decay.half_life, waited);
    std::erase_if(one.spec.consumed, [](const auto& each) { return each.second == 0; });
    one.since = now;
    if (one.spec.weight != 1 || !one.spec.consumed.empty()) said.push_back(std::move(one));
  }
  gone_.reserve(gone_.size() + names_.size());
  said_.swap(said);
  for (queue_and_space& one : names_)
    if (!one.first.empty()) gone_.push_back(std::move(one));
  usage_.reset();
  names_.clear(), weights_.clear(), written_.clear();
  before_.merge(held_);
  held_.clear();
  quotas_.read(of);
  if (quotas_.fault().empty()) usage_.emplace(quotas_.all(), options_.decay);
}

/// What has been said of local queues, where their queues are there.
GANGSCHED_INLINE void kueue_local_usage::tell() {
  const auto queue_of = [&](const waiting& one) {
    const auto queue = quotas_.all().find_queue(one.spec.queue);
    return queue && quotas_.all().by_local_usage(*queue) ? queue : std::nullopt;
  };
  for (const waiting& one : said_) {
    const auto queue = queue_of(one);
    if (!queue) continue;
    const local_index local = find_or_add(*queue, one.spec.name);
    usage_->set(one.spec).value();  // it has been checked
    weights_[local] = one.spec.weight;
  }
  // Only now, so that all is told once more if memory ran out half-way.
  std::erase_if(said_, [&](const waiting& one) { return queue_of(one).has_value(); });
}

GANGSCHED_INLINE void kueue_local_usage::count(const cluster_view& of, instant now) {
  const bool first = !counted_at_;
  ++round_;
  kueue_quotas::amounts amounts;
  of.each_pod([&](const pod_info& pod) {
    const auto queue = pod.queue();
    const auto node = pod.node();
    const queues::queue_index its = queue && node ? quotas_.find(*queue) : queues::no_queue;
    if (its == queues::no_queue || !quotas_.all().by_local_usage(its)) return;
    const local_index local = find_or_add(its, pod.ns());
    amounts.clear();
    quotas_.add_amounts(pod, its, node->flavor(), amounts);
    const auto [place, is_new] = held_.try_emplace(pod.id(), held{local, {}, round_});
    // Nothing from here on needs memory: a pod in the list has what it holds counted.
    held& one = place->second;
    one.seen = round_;
    const bool stays = !is_new && one.local == local;
    if (stays && one.amounts == amounts) return;
    if (!is_new) usage_->release(one.local, one.amounts);
    if (!stays) {
      usage_->keep(local);
      if (!is_new) usage_->let_go(one.local);
    }
    one.local = local;
    one.amounts.swap(amounts);
    usage_->hold(local, one.amounts);
    // A pod that stays and uses something else is no admission.
    one.is_admitted = one.is_admitted || (!first && !stays && !before_.contains(pod.id()));
  });
  // As in the controller a sample counts what is admitted; of several new pods all, so that it does not matter which is first.
  for (auto& [id, one] : held_) {
    if (!one.is_admitted) continue;
    one.is_admitted = false;
    usage_->sample_one(one.local, now);
    for (const queues::kueue::fr_amount& each : one.amounts)
      usage_->charge(one.local, quotas_.all().resource_of(each.of), each.amount);
  }
  std::erase_if(held_, [&](const auto& each) {
    if (each.second.seen == round_) return false;
    usage_->release(each.second.local, each.second.amounts);
    usage_->let_go(each.second.local);
    return true;
  });
  before_.clear();
  counted_at_ = of.changes();
}

/// Rows of local queues of which nothing is known any more.
GANGSCHED_INLINE result<void> kueue_local_usage::remove_rows(cluster& on) {
  for (local_index local = 0; local < names_.size(); ++local) {
    if (usage_->has(local) || names_[local].first.empty()) continue;
    detail::make_room(gone_);
    gone_.push_back(std::move(names_[local]));
    names_[local] = {};
  }
  for (; !gone_.empty(); gone_.pop_back()) {
    const auto queue = quotas_.all().find_queue(gone_.back().first);
    if (queue && usage_->find(*queue, gone_.back().second)) continue;
    const auto row = on.find_scope_row(kueue_local_queues, gone_.back().first + "/" + gone_.back().second);
    if (!row) continue;
    if (auto removed = on.remove_scope_row(*row); !removed) return removed;
  }
  return {};
}

GANGSCHED_INLINE result<void> kueue_local_usage::write(cluster& on) {
  if (auto removed = remove_rows(on); !removed) return removed;
  for (local_index local = 0; local < names_.size(); ++local) {
    if (!usage_->has(local)) continue;
    const double score = usage_->score(local);
    if (written_[local] == score) continue;
    if (auto made = on.add_scope_column(kueue_local_queues, kueue_local_score); !made) return made;
    const auto row = on.add_scope_row(kueue_local_queues, names_[local].first + "/" + names_[local].second);
    if (!row) return row.error();
    if (auto set = on.set_column(*row, kueue_local_score, std::bit_cast<std::int64_t>(score)); !set) return set;
    written_[local] = score;
  }
  counted_at_ = cluster_view{detail::inside(on)}.changes();  // scores are no news here
  return {};
}

GANGSCHED_INLINE result<void> kueue_local_usage::advance(cluster& on, instant now) {
  const cluster_view view{detail::inside(on)};
  news_.read(view, [&] { begin_anew(view, now); });
  if (!usage_) return {};
  if (!said_.empty()) tell();
  if (counted_at_ != view.changes() || !before_.empty()) count(view, now);
  usage_->sample(now, [](queues::queue_index) {});
  return write(on);
}

}  // namespace gangsched::inline GANGSCHED_ABI
