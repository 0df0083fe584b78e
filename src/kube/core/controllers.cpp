#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "gangsched/core/hash.hpp"
#include "gangsched/src/kube/core/objects.hpp"
#include "gangsched/src/kube/documents/trees.hpp"

// Workload controllers, and the pods that they would make. Names are as the controllers make them, but what is random
// there follows from the names here, so that the same files give the same pods.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

void add_to_hash(std::uint64_t& state, std::string_view text) {
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  state = (state ^ 0xff) * 0x100000001b3u;
}

void add_to_hash(std::uint64_t& state, const value& of) {
  add_to_hash(state, of.text);
  for (const std::string& key : of.keys) add_to_hash(state, key);
  for (const value& item : of.items) add_to_hash(state, item);
  state = (state ^ static_cast<unsigned>(of.kind)) * 0x100000001b3u;
}

/// Letters as Kubernetes' rand.SafeEncodeString has them: no vowels, no look-alikes.
std::string safe_letters(std::uint64_t hash, std::size_t count) {
  constexpr std::string_view letters = "bcdfghjklmnpqrstvwxz2456789";
  std::string made;
  hash = mix64(hash);
  for (std::size_t i = 0; i < count; ++i, hash /= letters.size()) made += letters[hash % letters.size()];
  return made;
}

std::size_t bytes_of(const value& of) {
  std::size_t sum = sizeof(value) + of.text.size();
  for (const std::string& key : of.keys) sum += key.size();
  for (const value& item : of.items) sum += bytes_of(item);
  return sum;
}

std::size_t weight_of(const value& pod_template) {
  constexpr std::size_t unit = 4096;
  return 1 + bytes_of(pod_template) / unit;
}

void inherit_queue_words(const label_map& labels, const label_map& annotations, pod_manifest& to) {
  for (const char* const key :
       {"gangsched.dev/queue", "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class",
        "kueue.x-k8s.io/job-min-parallelism", "kueue.x-k8s.io/admission-gated-by", "kai.scheduler/queue",
        "priorityClassName", "scheduling.volcano.sh/group-min-member", "scheduling.volcano.sh/queue-name",
        "volcano.sh/queue-name", "quota.scheduling.koordinator.sh/name"}) {
    if (to.spec.labels.contains(key)) continue;
    for (const label_map* const from : {&labels, &annotations})
      if (const auto found = from->find(key); found != from->end()) to.annotations.emplace(key, found->second);
  }
}

bool is_queued_by_kueue(const label_map& labels, const label_map& annotations) {
  constexpr const char* key = "kueue.x-k8s.io/queue-name";
  return labels.contains(key) || annotations.contains(key);
}

bool ignore_of_cron_job(reader& read, std::string_view key, const place& of) {
  return read.ignore(key, of,
                     {"schedule", "timeZone", "concurrencyPolicy", "startingDeadlineSeconds",
                      "successfulJobsHistoryLimit", "failedJobsHistoryLimit"});
}

bool has_ended(const value& object) {
  const auto is_last = [](std::string_view state) {
    static constexpr std::string_view all[] = {"Complete",
                                               "Completed",
                                               "Succeed",
                                               "COMPLETED",
                                               "Succeeded",
                                               "Failed",
                                               "FAILED",
                                               "Terminated",
                                               "Aborted",
                                               "Terminating",
                                               "Completing",
                                               "Aborting",
                                               "SuccessCriteriaMet",
                                               "FailureTarget"};
    return std::ranges::find(all, state) != std::end(all);
  };
  const value* status = object.find("status");
  if (status == nullptr || status->kind != value_kind::object) return false;
  if (is_last(text_at(*status, "jobDeploymentStatus"))) return true;  // KubeRay
  if (const value* state = status->find("state"); state != nullptr && state->kind == value_kind::object)
    return is_last(text_at(*state, "phase"));  // Volcano
  if (const value* state = status->find("applicationState"); state != nullptr && state->kind == value_kind::object)
    return is_last(text_at(*state, "state"));            // Spark
  const value* conditions = status->find("conditions");  // Jobs, JobSets, Kubeflow
  if (conditions == nullptr || conditions->kind != value_kind::list) return false;
  return std::ranges::any_of(conditions->items, [&](const value& one) {
    return one.kind == value_kind::object && text_at(one, "status") == "True" && is_last(text_at(one, "type"));
  });
}

bool read_template(reader& read, const place& of, controller_of_pods& out, const read_options& how) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  add_to_hash(hash, *of.at);
  out.pod_hash = safe_letters(hash, 10);
  out.weight = weight_of(*of.at);
  const value* const spec = of.at->find("spec");
  out.host_network = spec != nullptr && has_host_network(*spec);
  bool over = false;
  return read_template_pod(read, of, out.pod, over, how, out.admission);
}

/// What of a Job's status says which of its pods are to come.
static bool read_job_status(reader& read, const place& of, controller_of_pods& out) {
  const auto with = [&](std::string_view name, const auto& read_it) {
    const value* const found = of.at->find(name);
    return found == nullptr || found->kind == value_kind::null || read_it(place{found, &of, name});
  };
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return with("succeeded", [&](const place& v) { return read.integer(v, out.succeeded, 0, most); }) &&
         with("failed", [&](const place& v) { return read.integer(v, out.lost, 0, most); }) &&
         with("startTime", [&](const place& v) { return read.time(v, out.started.emplace()); }) &&
         with("completedIndexes", [&](const place& v) { return read.text(v, out.completed); }) &&
         with("failedIndexes", [&](const place& v) { return read.text(v, out.failed); });
}

/// Whether the podFailurePolicy passes over evictions: the first of its rules that is about them says so.
static bool ignores_disruptions(const value& policy) {
  const value* const rules = policy.find("rules");
  if (rules == nullptr || rules->kind != value_kind::list) return false;
  const auto is_about_them = [](const value& rule) {
    const value* const conditions = rule.find("onPodConditions");
    return conditions != nullptr && conditions->kind == value_kind::list &&
           std::ranges::any_of(conditions->items, [](const value& one) {
             return text_at(one, "type") == "DisruptionTarget" && text_at(one, "status") != "False";
           });
  };
  const auto first = std::ranges::find_if(rules->items, is_about_them);
  return first != rules->items.end() && text_at(*first, "action") == "Ignore";
}

/// What of a Job's spec says what it does later; nothing: it is another field.
static std::optional<bool> read_job_rules(reader& read, std::string_view field, const place& of, job_manifest& out) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (field == "activeDeadlineSeconds") return read.integer(of, out.deadline_seconds.emplace(), 0, most);
  if (field == "backoffLimit") {
    std::int64_t limit = 0;
    if (!read.integer(of, limit, 0, most)) return false;
    if (!out.by_index) out.failures_left = limit;
    return true;
  }
  if (field == "backoffLimitPerIndex") return out.by_index = true, read.integer(of, out.failures_left, 0, most);
  if (field == "podReplacementPolicy")
    return read.word(of, out.replaces_gone, {{"TerminatingOrFailed", false}, {"Failed", true}});
  return std::nullopt;
}

/// Of an Indexed Job: from the first index to the last.
struct index_interval {
  std::int64_t first = 0, last = 0;
};

/// "0-2,5" as the controller reads it (parseIndexesFromString): what is no interval is left out, and what is beyond @p completions.
static std::vector<index_interval> read_indices(std::string_view text, std::int64_t completions) {
  std::vector<index_interval> made;
  const auto number = [](std::string_view word, std::int64_t& out) {
    const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), out);
    return wrong == std::errc{} && end == word.data() + word.size();
  };
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t dash = word.find('-');
    index_interval one;
    if (!number(word.substr(0, dash), one.first)) continue;
    if (one.first >= completions) break;
    one.last = one.first;
    if (dash != std::string_view::npos && !number(word.substr(dash + 1), one.last)) continue;
    one.last = std::min(one.last, completions - 1);
    if (one.first <= one.last) made.push_back(one);
  }
  return made;
}

bool read_controller(reader& read, const place& of, std::string_view kind, controller_of_pods& out,
                     const read_options& how) {
  if (out.kind.empty()) out.kind = kind;
  out.ended = out.ended || has_ended(*of.at);
  const bool job = kind == "Job";
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_meta(read, v, out.meta);
    if (key == "status") return !job || read_job_status(read, v, out);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
      if (kind == "CronJob") {
        if (field == "jobTemplate") return read_controller(read, w, "Job", out, how);
        if (field == "suspend") return read.boolean(w, out.cron.suspended);
        if (field == "schedule") return read.text(w, out.cron.schedule);
        if (field == "timeZone") return read.text(w, out.cron.time_zone);
        if (field == "startingDeadlineSeconds")
          return read.integer(w, out.cron.starting_deadline_seconds.emplace(), 0, most);
        if (field == "concurrencyPolicy") {
          using policy = cron_job_manifest::policy;
          return read.word(w, out.cron.concurrency,
                           {{"Allow", policy::allow}, {"Forbid", policy::forbid}, {"Replace", policy::replace}});
        }
        return ignore_of_cron_job(read, field, w);
      }
      if (field == "template") return read_template(read, w, out, how);
      if (field == "selector") {
        if (kind == "ReplicationController") return read.texts_by_name(w, out.selector.emplace().match_labels);
        return read_label_selector(read, w, out.selector.emplace());
      }
      if (job) {
        if (field == "parallelism") return read.integer(w, out.replicas, 0, most);
        if (field == "completions") return read.integer(w, out.completions.emplace(), 0, most);
        if (field == "suspend") return read.boolean(w, out.suspended);
        if (field == "completionMode") return read.word(w, out.indexed, {{"NonIndexed", false}, {"Indexed", true}});
        if (field == "podFailurePolicy") {
          out.job.replaces_gone = true;
          out.bears_disruptions = ignores_disruptions(*w.at);
          return true;
        }
        if (const auto known = read_job_rules(read, field, w, out.job)) return *known;
        return read.ignore(
            field, w, {"managedBy", "manualSelector", "maxFailedIndexes", "successPolicy", "ttlSecondsAfterFinished"});
      }
      if (field == "replicas") return read.integer(w, out.replicas, 0, most);
      if (field == "ordinals") {
        return read.fields(w, [&](std::string_view word, const place& x) {
          return word == "start" ? read.integer(x, out.first_ordinal, 0, most) : read.ignore(word, x, {});
        });
      }
      if (field == "podManagementPolicy")
        return read.word(w, out.one_by_one, {{"OrderedReady", true}, {"Parallel", false}});
      if (field == "volumeClaimTemplates") return read_claim_templates(read, w, out.claim_templates);
      if (field == "paused") return read.boolean(w, out.paused);
      return read.ignore(field, w,
                         {"minReadySeconds", "progressDeadlineSeconds", "revisionHistoryLimit", "strategy",
                          "serviceName", "updateStrategy", "persistentVolumeClaimRetentionPolicy"});
    });
  });
}

/// Makes the pods of all controllers of some files.
class pod_maker {
 public:
  pod_maker(std::vector<controller_of_pods>& controllers, manifests& into, const read_options& how, pod_budget& budget,
            pod_admission& admission)
      : controllers_(&controllers), into_(&into), how_(&how), budget_(&budget), admission_(&admission) {
    for (std::size_t i = 0; i < into.pods.size(); ++i) {
      const pod_manifest& pod = into.pods[i];
      if (pod.owner_kind == "DaemonSet") daemons_[{pod.spec.ns, pod.owner_name}].push_back(i);
      if (!pod.spec.reservation) names_.emplace(pod.spec.ns, pod.spec.name);
      if (!pod.owner_name.empty()) ++owned_[{pod.owner_kind, pod.spec.ns, pod.owner_name}];
      if (pod.spec.terminating) {
        ++terminating_[{pod.owner_kind, pod.spec.ns, pod.owner_name}];
        leaving_names_.emplace(pod.spec.ns, pod.spec.name);
      }
      const auto index = pod.spec.labels.find("batch.kubernetes.io/job-completion-index");
      if (index != pod.spec.labels.end())
        (pod.spec.terminating ? leaving_indices_ : indices_).emplace(pod.spec.ns, pod.owner_name, index->second);
    }
    for (const controller_of_pods& one : controllers) {
      if (one.meta.owner_name.empty()) continue;
      ++owned_[{one.meta.owner_kind, one.meta.ns, one.meta.owner_name}];
      if (one.kind == "Job" && one.meta.owner_kind == "CronJob")
        jobs_[{one.meta.ns, one.meta.owner_name}].push_back(one.meta.name);
    }
    for (const controller_of_pods& one : controllers)
      if (one.kind == "Job") job_names_.emplace(one.meta.ns, one.meta.name);
    for (autoscaler_manifest& one : into.autoscalers) {
      if (scaled_.emplace(key{one.kind, one.ns, one.target}, &one).second) continue;
      one.replicas.clear();
      one.desired_replicas.reset();
      into.warnings.push_back(
          {where(into, one.from, "HorizontalPodAutoscaler", one.ns, one.name), "spec.scaleTargetRef",
           fmt::format("another one scales {} {}, too; this one is left out", one.kind, one.target)});
    }
  }

  bool run(error& wrong) {
    for (controller_of_pods& one : *controllers_) {
      const std::size_t first = into_->pods.size();
      const bool fine = make(one);
      for (std::size_t i = first; i < into_->pods.size(); ++i) admission_->admit(into_->pods[i], one.admission);
      if (fine) continue;
      wrong = {errc::out_of_range,
               fmt::format("{}:{}: {}", into_->files[one.from.file], one.from.line,
                           object_name(one.kind, one.meta.ns, one.meta.name)),
               "spec", fmt::format("there would be more than {} pods", budget_->most())};
      return false;
    }
    return true;
  }

 private:
  using key = std::tuple<std::string, std::string, std::string>;

  bool make(controller_of_pods& one) {
    const std::string& ns = one.meta.ns;
    if (one.ended || one.meta.deleted) return true;
    scale(one);
    if (one.kind == "Deployment") {
      if (owned_.count({"Deployment", ns, one.meta.name}) != 0) return true;  // its ReplicaSets are there
      if (one.paused) return true;
      controller_of_pods set = one;
      set.kind = "ReplicaSet";
      set.meta.name = one.meta.name + "-" + one.pod_hash;
      set.pod.spec.labels["pod-template-hash"] = one.pod_hash;
      if (set.selector) set.selector->match_labels["pod-template-hash"] = one.pod_hash;
      if (const auto by = scaled_.find({"Deployment", ns, one.meta.name}); by != scaled_.end())
        by->second->kind = set.kind, by->second->target = set.meta.name;
      return make(set);
    }
    if (one.kind == "CronJob") {
      cron_job_manifest& cron = into_->cron_jobs.emplace_back(std::move(one.cron));
      cron.ns = ns;
      cron.name = one.meta.name;
      cron.from = one.from;
      cron.job = fmt::format("{}-{}", one.meta.name, std::chrono::floor<std::chrono::minutes>(how_->now).count());
      if (const auto known = jobs_.find({ns, one.meta.name}); known != jobs_.end()) cron.jobs = known->second;
      if (cron.suspended || (!how_->over_time && owned_.count({"CronJob", ns, one.meta.name}) != 0)) return true;
      const auto is_taken = [&] {
        return job_names_.contains({ns, cron.job}) || owned_.contains({"Job", ns, cron.job});
      };
      while (how_->over_time && is_taken()) cron.job += "-run";
      if (job_names_.contains({ns, cron.job}))
        return true;  // as the API server, which makes no second Job of that name
      one.kind = "Job";
      one.meta.name = cron.job;
      return make(one);
    }
    if (one.kind == "Job") return make_job(one);
    if (one.kind == "DaemonSet") return make_daemons(one);
    if (one.kind != "StatefulSet") {  // ReplicaSet, ReplicationController
      into_->controllers.push_back({one.kind, ns, one.meta.name, one.selector, one.from});
      return make_unordered(one, one.replicas);
    }
    into_->controllers.push_back({one.kind, ns, one.meta.name, one.selector, one.from, one.one_by_one});
    return numbered(one, one.replicas, [&](std::int64_t i, bool make_it) {
      const std::int64_t ordinal = one.first_ordinal + i;
      const std::string name = fmt::format("{}-{}", one.meta.name, ordinal);
      if (names_.count({ns, name}) != 0) {
        if (!make_it && leaving_names_.contains({ns, name})) into_->controllers.back().made_again.push_back(name);
        return false;
      }
      if (!make_it) return true;
      pod_manifest& made = add(one, name);
      made.spec.labels["statefulset.kubernetes.io/pod-name"] = name;
      made.spec.labels["apps.kubernetes.io/pod-index"] = fmt::format("{}", ordinal);
      add_claim_templates(one.claim_templates, made);
      return true;
    });
  }

  /// What an autoscaler says of the workload counts more than its own number. Of a Deployment whose ReplicaSets are in the files it is
  /// about the one that has pods.
  void scale(controller_of_pods& one) {
    auto by = scaled_.find({one.kind, one.meta.ns, one.meta.name});
    if (one.kind == "ReplicaSet" && one.meta.owner_kind == "Deployment" && one.replicas > 0) {
      const auto above = scaled_.find({"Deployment", one.meta.ns, one.meta.owner_name});
      if (above != scaled_.end() && above->second->kind == "Deployment") {
        above->second->kind = one.kind, above->second->target = one.meta.name;
        by = above;
      }
    }
    if (by == scaled_.end() || one.replicas == 0) return;  // 0: the autoscaler is off
    autoscaler_manifest& scaler = *by->second;
    if (!scaler.desired_replicas)
      scaler.desired_replicas = std::clamp(one.replicas, scaler.min_replicas, scaler.max_replicas);
    one.replicas = *scaler.desired_replicas;
    if (!how_->over_time) return;
    for (const autoscaler_manifest::load& load : scaler.replicas) one.replicas = std::max(one.replicas, load.count);
  }

  /// Pods that are called by numbers: each(number, whether to make it) says whether it is lacking.
  template <class Each>
  bool numbered(const controller_of_pods& one, std::int64_t count, const Each& each) {
    // All of them will be there, so that more than this is too many, however many are there already.
    if (static_cast<std::uint64_t>(count) > budget_->most()) return false;
    std::int64_t lacking = 0;
    for (std::int64_t i = 0; i < count; ++i) lacking += each(i, false) ? 1 : 0;
    if (!budget_->take(lacking, one.weight)) return false;
    for (std::int64_t i = 0; i < count; ++i) each(i, true);
    return true;
  }

  bool make_job(controller_of_pods& one) {
    if (one.suspended && !is_queued_by_kueue(one.pod.spec.labels, one.pod.annotations)) return true;
    one.pod.spec.labels["batch.kubernetes.io/job-name"] = one.meta.name;
    one.pod.spec.labels["job-name"] = one.meta.name;
    settle_rules(one);
    if (how_->over_time && into_->jobs.back().deadline_seconds == 0) return true;  // it only ends those that it has
    if (one.indexed) return make_indices(one);
    if (!one.completions && one.succeeded > 0) return true;  // the work is done, but for those that are at it
    const std::int64_t left =
        one.completions ? std::max<std::int64_t>(0, *one.completions - one.succeeded) : one.replicas;
    const std::int64_t wanted = std::min(one.replicas, left);
    into_->jobs.back().made_again = made_again(one, wanted);
    return make_unordered(one, wanted);
  }

  /// What the Job does later.
  void settle_rules(const controller_of_pods& one) {
    job_manifest& made = into_->jobs.emplace_back(one.job);
    made.ns = one.meta.ns, made.name = one.meta.name;
    if (one.bears_disruptions)
      made.failures_left = std::numeric_limits<std::int64_t>::max();
    else if (!made.by_index)
      made.failures_left = std::max<std::int64_t>(0, made.failures_left - one.lost);
    if (!made.deadline_seconds || !one.started) return;
    const auto since = std::chrono::floor<std::chrono::seconds>(how_->now - *one.started).count();
    made.deadline_seconds = std::clamp<std::int64_t>(*made.deadline_seconds - since, 0, *made.deadline_seconds);
  }

  /// The pods that a controller has: those that are being deleted are none of them, but for a Job that waits until they are gone.
  [[nodiscard]] std::int64_t active(const controller_of_pods& one) const {
    return count_of(one, owned_) - (one.job.replaces_gone ? 0 : count_of(one, terminating_));
  }

  /// How many of its pods that are being deleted a Job makes again when they are gone, if it wants that many pods.
  [[nodiscard]] std::int64_t made_again(const controller_of_pods& one, std::int64_t wanted) const {
    if (!one.job.replaces_gone) return 0;
    const std::int64_t terminating = count_of(one, terminating_);
    return std::clamp<std::int64_t>(wanted - (active(one) - terminating), 0, terminating);
  }

  [[nodiscard]] static std::int64_t count_of(const controller_of_pods& one, const std::map<key, std::int64_t>& in) {
    const auto found = in.find({one.kind, one.meta.ns, one.meta.name});
    return found == in.end() ? 0 : found->second;
  }

  /// An Indexed Job: as many as are to run beside those that do, of the first indices that neither succeeded nor failed nor have a pod
  /// (firstPendingIndexes).
  bool make_indices(controller_of_pods& one) {
    const std::int64_t completions = one.completions.value_or(0);
    std::vector<index_interval> taken = read_indices(one.completed, completions);
    std::int64_t wanted = completions;
    for (const index_interval& each : taken) wanted -= each.last - each.first + 1;
    wanted = std::min(one.replicas, wanted);
    into_->jobs.back().made_again = made_again(one, wanted);
    wanted -= active(one);
    for (const index_interval& each : read_indices(one.failed, completions)) taken.push_back(each);
    const auto take = [&](const std::set<key>& of) {
      for (auto at = of.lower_bound({one.meta.ns, one.meta.name, {}});
           at != of.end() && std::get<0>(*at) == one.meta.ns && std::get<1>(*at) == one.meta.name; ++at)
        for (const index_interval& each : read_indices(std::get<2>(*at), completions)) taken.push_back(each);
    };
    take(indices_);
    if (one.job.replaces_gone) take(leaving_indices_);
    std::ranges::sort(taken, {}, &index_interval::first);
    taken.push_back({completions, completions});
    std::vector<index_interval> pending;
    std::int64_t next = 0, count = 0;
    for (const index_interval& each : taken) {
      const std::int64_t fit = std::min(each.first - next, wanted - count);
      if (fit > 0) pending.push_back({next, next + fit - 1}), count += fit;
      next = std::max(next, each.last + 1);
    }
    if (!budget_->take(count, one.weight)) return false;
    for (const index_interval& each : pending) {
      for (std::int64_t i = each.first; i <= each.last; ++i) {
        const std::string index = fmt::format("{}", i);
        one.pod.spec.labels["batch.kubernetes.io/job-completion-index"] = index;
        make_suffixed(one, 1, "-" + index);
      }
    }
    return true;
  }

  bool make_daemons(controller_of_pods& one) {
    pod_manifest pod = daemon_pod(one);
    const std::vector<const std::string*> nodes =
        nodes_without_daemon(pod, *into_, daemons_[{one.meta.ns, one.meta.name}]);
    if (!budget_->take(static_cast<std::int64_t>(nodes.size()), one.weight)) return false;
    std::uint64_t seed = 0xcbf29ce484222325u;
    add_to_hash(seed, one.meta.ns);
    add_to_hash(seed, one.meta.name);
    for (const std::string* const node : nodes) {
      keep_to(pod, *node);
      add(one, pod, unused_name(one, one.meta.name + "-", seed));
    }
    return true;
  }

  /// Pods of which those that are there already count.
  bool make_unordered(const controller_of_pods& one, std::int64_t wanted) {
    wanted -= active(one);
    if (!budget_->take(wanted, one.weight)) return false;
    make_suffixed(one, wanted, {});
    return true;
  }

  /// Pods with a random suffix.
  void make_suffixed(const controller_of_pods& one, std::int64_t wanted, const std::string& infix) {
    const std::string base = (one.meta.name + infix + "-").substr(0, 58);  // what generateName leaves of it
    std::uint64_t seed = 0xcbf29ce484222325u;
    add_to_hash(seed, one.meta.ns);
    add_to_hash(seed, base);
    for (std::int64_t i = 0; i < wanted; ++i) add(one, unused_name(one, base, seed));
  }

  [[nodiscard]] std::string unused_name(const controller_of_pods& one, const std::string& base,
                                        std::uint64_t& seed) const {
    std::string name;
    do name = base + safe_letters(seed++, 5);
    while (names_.count({one.meta.ns, name}) != 0);
    return name;
  }

  pod_manifest& add(const controller_of_pods& one, std::string name) { return add(one, one.pod, std::move(name)); }
  pod_manifest& add(const controller_of_pods& one, pod_manifest made, std::string name) {
    pod_manifest& pod = into_->pods.emplace_back(std::move(made));
    pod.spec.name = std::move(name);
    pod.spec.ns = one.meta.ns;
    pod.owner_kind = one.kind;
    pod.owner_name = one.meta.name;
    pod.from = one.from;
    names_.emplace(pod.spec.ns, pod.spec.name);
    return pod;
  }

  std::vector<controller_of_pods>* controllers_;
  manifests* into_;
  const read_options* how_;
  pod_budget* budget_;
  pod_admission* admission_;
  std::set<std::pair<std::string, std::string>> names_;
  std::map<key, std::int64_t> owned_;  ///< pods and sets by owner: kind, namespace, name
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>>
      daemons_;  ///< pods by DaemonSet: namespace, name
  std::set<std::pair<std::string, std::string>> leaving_names_;
  std::map<key, std::int64_t> terminating_;  ///< of those pods
  std::set<key> indices_, leaving_indices_;  ///< namespace, job, index; of pods that are being deleted
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> jobs_;  ///< by CronJob: namespace, name
  std::set<std::pair<std::string, std::string>> job_names_;  ///< of Jobs in the files: namespace, name
  std::map<key, autoscaler_manifest*> scaled_;               ///< by kind, namespace and name of the target
};

bool expand(std::vector<controller_of_pods>& controllers, manifests& into, const read_options& how, pod_budget& budget,
            pod_admission& admission, error& wrong) {
  return pod_maker{controllers, into, how, budget, admission}.run(wrong);
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
