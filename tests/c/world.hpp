#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/c/gangsched.h"
#include "support/catch.hpp"

/// A cluster of the C interface, in few words.
namespace gangsched::testing {

[[nodiscard]] inline std::string text_of(gangsched_text text) {
  return {text.data == nullptr ? "" : text.data, text.size};
}

struct c_error {
  gangsched_error* it = gangsched_error_create();
  c_error() = default;
  c_error(const c_error&) = delete;
  c_error& operator=(const c_error&) = delete;
  ~c_error() { gangsched_error_destroy(it); }
  operator gangsched_error*() const noexcept { return it; }
  [[nodiscard]] std::string message() const { return gangsched_error_message(it); }
};

struct c_world {
  c_error error;
  gangsched_cluster* cluster = nullptr;
  gangsched_scheduler* scheduler = nullptr;

  c_world() { must(gangsched_cluster_create(nullptr, &cluster, error)); }
  c_world(const c_world&) = delete;
  c_world& operator=(const c_world&) = delete;
  ~c_world() {
    gangsched_scheduler_destroy(scheduler);
    gangsched_cluster_destroy(cluster);
  }

  void must(gangsched_code code) const {
    INFO(error.message());
    REQUIRE(code == GANGSCHED_OK);
  }
  void schedules(const gangsched_configuration* by = nullptr, const gangsched_scheduler_options* options = nullptr) {
    must(gangsched_scheduler_create(cluster, by, options, &scheduler, error));
  }
  gangsched_node_id node(const char* name, std::int64_t cpu, std::uint64_t cookie = 0) const {
    const gangsched_amount room[] = {{"cpu", nullptr, cpu, 0}, {"pods", nullptr, 110, 0}};
    gangsched_node_spec spec{};
    spec.struct_size = sizeof spec;
    spec.name = name;
    spec.allocatable = {room, 2};
    spec.cookie = cookie;
    gangsched_node_id made{};
    must(gangsched_cluster_add_node(cluster, &spec, &made, error));
    return made;
  }
  /// Of one container. @p change fills in the rest of the spec.
  template <class Change>
  gangsched_pod_id pod_with(const char* name, std::int64_t cpu, const Change& change,
                            gangsched_code expected = GANGSCHED_OK) const {
    const gangsched_amount share{"cpu", nullptr, cpu, 0};
    gangsched_container one{};
    one.struct_size = sizeof one;
    one.requests = {&share, 1};
    gangsched_pod_spec spec{};
    spec.struct_size = sizeof spec;
    spec.name = name;
    spec.containers = &one;
    spec.container_count = 1;
    change(spec);
    gangsched_pod_id made{};
    const gangsched_code said = gangsched_cluster_add_pod(cluster, &spec, &made, error);
    INFO(error.message());
    REQUIRE(said == expected);
    return made;
  }
  gangsched_pod_id pod(const char* name, std::int64_t cpu, gangsched_group_id group = {}, std::uint64_t cookie = 0,
                       std::int32_t priority = 0) const {
    return pod_with(name, cpu, [&](gangsched_pod_spec& spec) {
      spec.group = group;
      spec.cookie = cookie;
      spec.has_priority = true;
      spec.priority = priority;
    });
  }
  gangsched_group_id gang(const char* name, std::int32_t min_count, std::int32_t mode = GANGSCHED_GROUP_CYCLE) const {
    gangsched_group_spec spec{};
    spec.struct_size = sizeof spec;
    spec.name = name;
    spec.min_count = min_count;
    spec.mode = mode;
    gangsched_group_id made{};
    must(gangsched_cluster_add_group(cluster, &spec, &made, error));
    return made;
  }
  /// A whole turn, with room for @p capacity decisions in a call. "p bind a", "q reject", …
  std::vector<std::string> run(std::int64_t now = 0, std::size_t capacity = 8) const {
    std::vector<std::string> told;
    std::vector<gangsched_decision> decisions(capacity);
    for (std::size_t count = capacity; count == capacity;) {
      must(gangsched_scheduler_run(scheduler, now, decisions.data(), capacity, &count, error));
      for (std::size_t i = 0; i < count; ++i) told.push_back(words(decisions[i]));
    }
    return told;
  }
  [[nodiscard]] std::string words(const gangsched_decision& one) const {
    const std::string node = text_of(gangsched_cluster_node_name(cluster, one.node));
    return text_of(gangsched_cluster_pod_name(cluster, one.pod)) + " " + gangsched_decision_kind_name(one.kind) +
           (node.empty() ? "" : " " + node);
  }
  [[nodiscard]] std::string explain(gangsched_pod_id pod, std::int32_t format = GANGSCHED_SUMMARY) const {
    char* text = nullptr;
    must(gangsched_scheduler_explain(scheduler, pod, format, &text, error));
    const std::string said = text;
    gangsched_free(text);
    return said;
  }
};

}  // namespace gangsched::testing
