#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gangsched/model/requests.hpp"
#include "gangsched/src/kube/core/objects.hpp"
#include "gangsched/src/kube/devices/devices.hpp"
#include "gangsched/src/kube/documents/annotations.hpp"
#include "gangsched/src/kube/documents/trees.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

struct resources {
  resource_list requests;
  resource_list limits;
};

bool read_resources(reader& read, const place& of, resources& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "requests") return read.amounts(v, out.requests);
    if (key == "limits") return read.amounts(v, out.limits);
    if (key == "claims") return true;  // which container sees what the pod has
    return read.ignore(key, v, {});
  });
}

bool is_guaranteed(const resource_list& requests, const resource_list& limits) {
  const auto limited = [&](const char* name) {
    const auto limit = limits.find(name), request = requests.find(name);
    return limit != limits.end() && limit->second > quantity{} && request != requests.end() &&
           request->second == limit->second;
  };
  return limited("cpu") && limited("memory");
}

bool read_protocol(reader& read, const place& of, protocol& out) {
  if (of.at->kind == value_kind::text && of.at->text.empty()) return true;
  return read.word(of, out, {{"TCP", protocol::tcp}, {"UDP", protocol::udp}, {"SCTP", protocol::sctp}});
}

bool read_port(reader& read, const place& of, container_port& out, bool host_network) {
  std::int32_t inside = 0;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "hostPort") return read.integer(v, out.host_port, 0, 65535);
    if (key == "containerPort") return read.integer(v, inside, 0, 65535);
    if (key == "protocol") return read_protocol(read, v, out.protocol);
    if (key == "hostIP") return read.text(v, out.host_ip);
    return read.ignore(key, v, {"name"});
  });
  if (host_network && out.host_port == 0) out.host_port = inside;
  return fine;
}

/// What containers say of their pod.
struct told_by_containers {
  bool guaranteed = true;     ///< none keeps it from being that
  bool restarts_all = false;  ///< the exit of one may restart all of them
};

bool read_restart_rules(reader& read, const place& of, bool& restarts_all) {
  return read.items(of, [&](const place& item) {
    std::string action;
    const bool fine = read.fields(item, [&](std::string_view key, const place& v) {
      return key == "action" ? read.text(v, action) : read.ignore(key, v, {"exitCodes"});
    });
    restarts_all = restarts_all || action == "RestartAllContainers";
    return fine;
  });
}

bool read_container(reader& read, const place& of, container& out, resource_list& limits, bool init, bool host_network,
                    const read_options& how, told_by_containers& told) {
  resources own;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "image") return read.text(v, out.image);
    if (key == "resources") return read_resources(read, v, own);
    if (key == "ports") {
      return read.list(v, out.ports, [&](const place& item, container_port& one) {
        return read_port(read, item, one, host_network && how.defaulting);
      });
    }
    if (key == "restartPolicy") {
      std::string policy;
      if (!read.text(v, policy)) return false;
      out.sidecar = init && policy == "Always";
      return true;
    }
    if (key == "restartPolicyRules") return read_restart_rules(read, v, told.restarts_all);
    return read.ignore(key, v,
                       {"name",
                        "args",
                        "command",
                        "env",
                        "envFrom",
                        "imagePullPolicy",
                        "lifecycle",
                        "livenessProbe",
                        "readinessProbe",
                        "resizePolicy",
                        "securityContext",
                        "startupProbe",
                        "stdin",
                        "stdinOnce",
                        "terminationMessagePath",
                        "terminationMessagePolicy",
                        "tty",
                        "volumeDevices",
                        "volumeMounts",
                        "workingDir"});
  });
  out.requests = std::move(own.requests);
  if (how.defaulting) out.requests.insert(own.limits.begin(), own.limits.end());
  told.guaranteed = told.guaranteed && is_guaranteed(out.requests, own.limits);
  limits = std::move(own.limits);
  return fine;
}

bool read_toleration(reader& read, const place& of, toleration& out, std::optional<std::int64_t>* seconds) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "key") return read.text(v, out.key);
    if (key == "value") return read.text(v, out.value);
    if (key == "effect") return read_effect(read, v, out.effect);
    if (key == "operator") {
      if (v.at->kind == value_kind::text && v.at->text.empty()) return true;
      return read.word(v, out.op, {{"Equal", toleration_operator::equal}, {"Exists", toleration_operator::exists}});
    }
    if (key == "tolerationSeconds" && seconds != nullptr) return read.integer(v, seconds->emplace());
    return read.ignore(key, v, {"tolerationSeconds"});
  });
}

bool read_tolerations(reader& read, const place& of, pod_manifest& out) {
  out.toleration_seconds.resize(out.spec.tolerations.size());  // of those that were said elsewhere
  return read.list(of, out.spec.tolerations, [&](const place& item, toleration& one) {
    return read_toleration(read, item, one, &out.toleration_seconds.emplace_back());
  });
}

/// schedulingGroup of 1.36 and later, workloadRef of 1.35: there a group is named after its workload.
bool read_group(reader& read, std::string_view key, const place& of, std::string& out) {
  if (key == "schedulingGroup") {
    return read.fields(of, [&](std::string_view field, const place& v) {
      if (field == "podGroupName") return read.text(v, out);
      return read.ignore(field, v, {});
    });
  }
  std::string workload, group, replica;
  const bool fine = read.fields(of, [&](std::string_view field, const place& v) {
    if (field == "name") return read.text(v, workload);
    if (field == "podGroup") return read.text(v, group);
    if (field == "podGroupReplicaKey") return read.text(v, replica);
    return read.ignore(field, v, {});
  });
  out = workload + "-" + group + (replica.empty() ? "" : "-" + replica);
  return fine;
}

/// What they ask for together, in whole units, cpu in milli.
static auto requests_of_containers(const pod_spec& spec) {
  pod_spec inner;
  inner.containers = spec.containers;
  inner.init_containers = spec.init_containers;
  return requests_of(inner);
}
static quantity counted(std::string_view resource, std::int64_t amount) {
  return resource == "cpu" ? quantity::from_milli(amount) : quantity{amount};
}

/// What the API server adds to pod-level requests: what the containers ask for together, else the pod's limit.
void default_pod_requests(pod_spec& spec, const resource_list& limits) {
  if (limits.empty()) return;
  if (!spec.resources) spec.resources.emplace();
  if (const auto sum = requests_of_containers(spec)) {
    for (const char* name : {"cpu", "memory"}) {
      const auto found = sum->requests.find(name);
      if (found != sum->requests.end()) spec.resources->emplace(name, counted(name, found->second));
    }
  }
  spec.resources->insert(limits.begin(), limits.end());
}

/// Of its conditions the first DisruptionTarget says whether a preemption ends it (DefaultPreemption), and the first PodScheduled and
/// Initialized since when it is so.
bool read_conditions(reader& read, const place& of, pod_manifest& out) {
  bool found = false, found_scheduled = false, found_initialized = false;
  return read.items(of, [&](const place& item) {
    std::string type, status, reason;
    std::optional<instant> since;
    const bool fine = read.fields(item, [&](std::string_view key, const place& v) {
      if (key == "type") return read.text(v, type);
      if (key == "status") return read.text(v, status);
      if (key == "reason") return read.text(v, reason);
      if (key == "lastTransitionTime") return v.at->kind == value_kind::null || read.time(v, since.emplace());
      return read.ignore(key, v, {"lastProbeTime", "message", "observedGeneration"});
    });
    if (fine && type == "DisruptionTarget" && !std::exchange(found, true)) {
      out.spec.preempted = status == "True" && reason == "PreemptionByScheduler";
    }
    if (fine && type == "PodScheduled" && !std::exchange(found_scheduled, true) && status == "True")
      out.scheduled = since;
    if (fine && type == "Initialized" && !std::exchange(found_initialized, true) && status == "True")
      out.initialized = since;
    return fine;
  });
}

bool read_pod_claims(reader& read, const place& of, std::vector<pod_claim>& out) {
  return read.list(of, out, [&](const place& item, pod_claim& one) {
    const bool fine = read.fields(item, [&](std::string_view field, const place& v) {
      if (field == "name") return read.text(v, one.name);
      if (field == "resourceClaimName") return read.text(v, one.claim);
      if (field == "resourceClaimTemplateName") return read.text(v, one.claim_template);
      return read.ignore(field, v, {});
    });
    return fine && (one.claim.empty() != one.claim_template.empty() ||
                    read.fail(errc::malformed, item, "needs either resourceClaimName or resourceClaimTemplateName"));
  });
}

/// What of a status is about the spec, which may stand behind it.
struct told_of_spec {
  std::optional<bool> guaranteed = {};  ///< what the API server decided when the pod was made
  std::vector<std::pair<std::string, std::string>> claims_made =
      {};                           ///< from the templates: the pod's name, the claim's
  std::string extended_claim = {};  ///< made for extended resources
};

bool read_claim_statuses(reader& read, const place& of, told_of_spec& out) {
  return read.list(of, out.claims_made, [&](const place& item, std::pair<std::string, std::string>& one) {
    return read.fields(item, [&](std::string_view key, const place& v) {
      if (key == "name") return read.text(v, one.first);
      if (key == "resourceClaimName") return read.text(v, one.second);
      return read.ignore(key, v, {});
    });
  });
}

bool read_status(reader& read, const place& of, pod_manifest& out, bool& over, told_of_spec& told) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "nominatedNodeName") return read.text(v, out.nominated_node);
    if (key == "startTime") return read.time(v, out.spec.start_time.emplace());
    if (key == "phase") {
      std::string phase;
      if (!read.text(v, phase)) return false;
      over = phase == "Succeeded" || phase == "Failed";
      return true;
    }
    if (key == "conditions") return read_conditions(read, v, out);
    if (key == "resourceClaimStatuses") return read_claim_statuses(read, v, told);
    if (key == "extendedResourceClaimStatus") {
      return read.fields(v, [&](std::string_view field, const place& w) {
        return field == "resourceClaimName" ? read.text(w, told.extended_claim)
                                            : read.ignore(field, w, {"requestMappings"});
      });
    }
    if (key == "qosClass") {
      std::string qos;
      if (!read.text(v, qos)) return false;
      if (!qos.empty()) told.guaranteed = qos == "Guaranteed";
      return true;
    }
    return read.ignore(
        key, v,
        {"allocatedResources", "containerStatuses", "ephemeralContainerStatuses", "hostIP", "hostIPs",
         "initContainerStatuses", "message", "observedGeneration", "podIP", "podIPs", "reason", "resize", "resources"});
  });
}

bool has_host_network(const value& spec) {
  const value* const said = spec.find("hostNetwork");
  return said != nullptr && said->text == "true";
}

/// What a pod requests as a whole is no less than what its containers do together (validatePodResourceConsistency).
static bool covers_containers(reader& read, const place& of, const pod_spec& spec) {
  const auto all = requests_of_containers(spec);
  if (!all) return true;  // too much to be counted: said elsewhere
  for (const auto& [name, requested] : *spec.resources) {
    const auto its = all->requests.find(name);
    if (its == all->requests.end()) continue;
    const quantity sum = counted(name, its->second);
    if (sum <= requested) continue;
    const spot at = find_spot(of, {"resources"});
    return read.fail(errc::out_of_range, at.line, at.path + ".requests." + name,
                     fmt::format("{} is less than what the containers request together, {}", requested.to_string(),
                                 sum.to_string()));
  }
  return true;
}

static bool read_pod_spec(reader& read, const place& of, pod_manifest& out, const read_options& how,
                          admission_words& words) {
  pod_spec& spec = out.spec;
  resources own;
  std::vector<resource_list> limits, init_limits;
  told_by_containers told;
  bool has_own = false, host_network = has_host_network(*of.at), host_users = true;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    const auto containers = [&](std::vector<container>& into, std::vector<resource_list>& all_limits, bool init) {
      return read.list(v, into, [&](const place& item, container& one) {
        return read_container(read, item, one, all_limits.emplace_back(), init, host_network, how, told);
      });
    };
    if (key == "containers") return containers(spec.containers, limits, false);
    if (key == "initContainers") return containers(spec.init_containers, init_limits, true);
    if (key == "resources") return has_own = true, read_resources(read, v, own);
    if (key == "overhead") return read.amounts(v, spec.overhead);
    if (key == "nodeName") return read.text(v, out.node);
    if (key == "nodeSelector") return read.texts_by_name(v, spec.node_selector);
    if (key == "affinity") return read_affinity(read, v, spec, words.label_keys);
    if (key == "tolerations") return read_tolerations(read, v, out);
    if (key == "topologySpreadConstraints") {
      return read.list(v, spec.topology_spread_constraints,
                       [&](const place& item, topology_spread& one) { return read_spread(read, item, one); });
    }
    if (key == "priority") return read.integer(v, spec.priority.emplace());
    if (key == "priorityClassName") return read.text(v, spec.priority_class);
    if (key == "preemptionPolicy") {
      return read.word(
          v, spec.preemption,
          {{"PreemptLowerPriority", preemption_policy::preempt_lower_priority}, {"Never", preemption_policy::never}});
    }
    if (key == "schedulerName") {
      if (!read.text(v, spec.scheduler_name)) return false;
      if (spec.scheduler_name.empty()) spec.scheduler_name = "default-scheduler";
      return true;
    }
    if (key == "schedulingGates") {
      return read.list(v, spec.scheduling_gates, [&](const place& item, std::string& one) {
        return read.fields(item, [&](std::string_view field, const place& w) {
          return field == "name" ? read.text(w, one) : read.ignore(field, w, {});
        });
      });
    }
    if (key == "volumes") return read.items(v, [&](const place& item) { return read_pod_volume(read, item, out); });
    if (key == "schedulingGroup" || key == "workloadRef") return read_group(read, key, v, out.group);
    if (key == "hostNetwork") return read.boolean(v, host_network);
    if (key == "hostUsers") return read.boolean(v, host_users);
    if (key == "runtimeClassName") return read.text(v, words.runtime_class);
    constexpr std::int64_t longest = std::numeric_limits<std::int32_t>::max();
    if (key == "terminationGracePeriodSeconds") return read.integer(v, out.grace_seconds, 0, longest);
    if (key == "activeDeadlineSeconds") {
      if (!read.integer(v, out.deadline_seconds.emplace(), 1, longest)) return false;
      spec.expected_run_time = std::chrono::seconds{*out.deadline_seconds};
      return true;
    }
    if (key == "resourceClaims") return read_pod_claims(read, v, out.claims);
    return read.ignore(key, v,
                       {"automountServiceAccountToken",
                        "dnsConfig",
                        "dnsPolicy",
                        "enableServiceLinks",
                        "ephemeralContainers",
                        "hostAliases",
                        "hostIPC",
                        "hostPID",
                        "hostname",
                        "hostnameOverride",
                        "imagePullSecrets",
                        "os",
                        "readinessGates",
                        "restartPolicy",
                        "securityContext",
                        "serviceAccount",
                        "serviceAccountName",
                        "setHostnameAsFQDN",
                        "shareProcessNamespace",
                        "subdomain"});
  });
  if (has_own && !own.requests.empty()) spec.resources = std::move(own.requests);
  if (fine && how.defaulting) default_pod_requests(spec, own.limits);
  if (fine && how.api_server_rules && has_own && spec.resources && !covers_containers(read, of, spec)) return false;
  // What the pod has of its own counts instead of what its containers have (ComputePodQOS of 1.36).
  if (has_own) told.guaranteed = spec.resources && is_guaranteed(*spec.resources, own.limits);
  spec.guaranteed = told.guaranteed && !spec.containers.empty();
  // What a pod requires of its node (component-helpers/nodedeclaredfeatures of 1.36).
  if (told.restarts_all) spec.required_features.emplace_back("RestartAllContainersOnContainerExits");
  if (host_network && !host_users) spec.required_features.emplace_back("UserNamespacesHostNetworkSupport");
  limits.insert(limits.end(), init_limits.begin(), init_limits.end());
  const auto empty = [](const resource_list& one) { return one.empty(); };
  if (!std::ranges::all_of(limits, empty)) out.limits = std::move(limits);
  out.pod_limits = std::move(own.limits);
  return fine;
}

/// What its labels and annotations say, but for time limits.
static bool read_words(reader& read, const place& of, pod_manifest& out) {
  return read_device_requests(read, of, out) && read_cpu_binding(read, of, out) &&
         read_reservation_words(read, of, out) && read_load_estimate(read, of, out);
}

bool read_template_pod(reader& read, const place& of, pod_manifest& out, bool& over, const read_options& how,
                       admission_words& words) {
  object_meta meta;
  // First, whatever the order in the file: terms may refer to the pod's labels.
  if (const value* found = of.at->find("metadata"); found != nullptr && found->kind != value_kind::null) {
    const place at{found, &of, "metadata"};
    if (!read_meta(read, at, meta) || !read_time_limits(read, at, out.spec.deadline, out.spec.max_wait)) return false;
  }
  out.spec.name = std::move(meta.name);
  if (!meta.ns.empty()) out.spec.ns = std::move(meta.ns);
  out.spec.labels = std::move(meta.labels);
  out.spec.terminating = meta.deleted.has_value();
  out.owner_kind = std::move(meta.owner_kind);
  out.owner_name = std::move(meta.owner_name);
  out.annotations = std::move(meta.annotations);
  told_of_spec told;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "spec") return read_pod_spec(read, v, out, how, words);
    if (key == "status") return read_status(read, v, out, over, told);
    return read.ignore(key, v, {"apiVersion", "kind", "metadata"});
  });
  out.spec.guaranteed = told.guaranteed.value_or(out.spec.guaranteed);
  for (const auto& [name, made] : told.claims_made)
    for (pod_claim& one : out.claims)
      if (one.name == name && one.claim.empty()) one.claim = made;
  if (!told.extended_claim.empty() && !out.node.empty())
    out.claims.push_back({std::string{extended_claim_name}, std::move(told.extended_claim)});
  return fine && read_resizes(read, of, out) && read_words(read, of, out);
}

bool read_words_again(reader& read, std::uint32_t line, pod_manifest& out) {
  value object = object_of({}, line);
  value& texts = make_field(make_field(object, "metadata", value_kind::object), "annotations", value_kind::object);
  for (const auto& [key, text] : out.annotations) make_field(texts, key, value_kind::text).text = text;
  forget_device_requests(out);
  pod_spec& spec = out.spec;
  spec.deadline.reset();
  spec.max_wait = {};
  spec.bind_cpus = {};
  spec.reservation_affinity.reset();
  spec.exact_reservation.clear();
  out.reservation.clear();
  spec.load = {};
  const place of{&object};
  const place meta{object.find("metadata"), &of, "metadata"};
  return read_time_limits(read, meta, spec.deadline, spec.max_wait) && read_words(read, of, out);
}

bool read_pod(reader& read, const place& of, pod_manifest& out, bool& over, const read_options& how) {
  admission_words words;
  const bool fine = read_template_pod(read, of, out, over, how, words);
  if (how.defaulting) merge_label_keys(out.spec, words.label_keys);
  return fine;
}

void settle_alone(reader& read, const place& of, pod_manifest& out) {
  for (const pod_volume& one : out.volumes) {
    if (!one.claim.empty() || one.ephemeral)
      read.warn(of, fmt::format("volume \"{}\": claims take other objects to know: where it can be used does not count",
                                one.name));
  }
  for (const pod_claim& one : out.claims) {
    if (one.name == extended_claim_name) continue;  // its devices are counted as what its containers request
    if (one.claim.empty())
      out.unresolved.push_back(fmt::format("the ResourceClaim of template \"{}\" is not made yet", one.claim_template));
    else if (std::ranges::find(out.shared_claims, one.claim) == out.shared_claims.end())
      out.shared_claims.push_back(one.claim);
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
