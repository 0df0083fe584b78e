#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gangsched/kube/queues.hpp"
#include "gangsched/src/kube/core/objects.hpp"

/// YuniKorn's configuration as it was read.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

struct yunikorn_limit {
  std::vector<std::string> users = {}, groups = {};
  resource_list most = {};
  std::uint32_t max_applications = 0;  ///< 0: no bound
};

struct yunikorn_queue {
  std::string path = {}, parent = {};
  std::uint32_t line = 0;
  bool is_parent = false;  ///< has queues, or may get some
  resource_list guaranteed = {}, most = {};
  std::uint32_t max_applications = 0;  ///< 0: no bound
  queues::yunikorn::application_order order = queues::yunikorn::application_order::fifo;
  bool priority_first = true;
  std::int32_t priority_offset = 0;
  queues::yunikorn::priority_policy priority = queues::yunikorn::priority_policy::pass;
  queues::yunikorn::preemption_policy preemption = queues::yunikorn::preemption_policy::allow;
  instant preemption_delay = queues::yunikorn::queue_settings{}.preemption_delay;
  instant quota_preemption_delay = {};  ///< 0: never
  std::uint32_t backoff_after = 0;      ///< 0: never
  instant backoff = queues::yunikorn::queue_settings{}.backoff;
  bool preempts = true;  ///< false: the partition has no preemption
  bool gives = true;     ///< false: its pods are not preempted, as it or a queue above says
  bool made = false;     ///< by a rule, so that annotations of namespaces may say what it has
  std::vector<yunikorn_limit> limits = {};
  std::vector<yunikorn_queue> child_template = {};  ///< none, or what those have that a rule makes in it

  /// Properties that hold for those below, too, unless they say otherwise.
  void inherit(const yunikorn_queue& above) {
    order = above.order;
    priority_first = above.priority_first;
    preemption_delay = above.preemption_delay;
    quota_preemption_delay = above.quota_preemption_delay;
    backoff_after = above.backoff_after;
    backoff = above.backoff;
  }
};

/// Which queue a pod that says nothing, or part of it, is in.
struct placement_rule {
  enum class kind : std::uint8_t { provided, fixed, tag, user } what = kind::provided;
  bool named = false;
  bool create = false;
  std::string value = {};                   ///< the queue's name, or the tag's: "namespace" or "namespace.parentqueue"
  std::vector<placement_rule> parent = {};  ///< none or one
  bool filtered = false, denies = false;
  std::vector<std::string> users = {}, groups = {};
};

struct yunikorn_draft {
  std::vector<yunikorn_queue> queues = {};  ///< one before those in it
  std::vector<placement_rule> rules = {};
  origin from = {};
};

bool read_yunikorn(reader& read, const place& of, yunikorn_draft& out);

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
