#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gangsched/model/spec.hpp"

/// Specs in one line, for tests:
///   a_node("n1").cpu(4).memory("8Gi").label("zone", "a").taint("dedicated", "ml")
///   a_pod("p").cpu_milli(100).in(group).on(node)
///   a_gang("train", 4).permit()
/// A builder converts to its spec; `.spec` is there for what it has no word for.
namespace gangsched::testing {

/// "8Gi"; asserts that it is a quantity.
[[nodiscard]] inline quantity quantity_of(std::string_view text) { return quantity::parse(text).value(); }

/// A node without labels or taints that allows 110 pods and has nothing else.
struct a_node {
  node_spec spec;

  explicit a_node(std::string name) {
    spec.name = std::move(name);
    resource("pods", 110);
  }
  operator const node_spec&() const noexcept { return spec; }

  a_node& resource(const std::string& name, quantity amount) {
    spec.allocatable[name] = amount;
    spec.capacity[name] = amount;
    return *this;
  }
  a_node& resource(const std::string& name, std::string_view text) { return resource(name, quantity_of(text)); }
  a_node& cpu(std::int64_t cores) { return resource("cpu", cores); }
  a_node& cpu_milli(std::int64_t milli) { return resource("cpu", quantity::from_milli(milli)); }
  a_node& memory(std::string_view text) { return resource("memory", text); }
  a_node& gpus(std::int64_t count) { return resource("nvidia.com/gpu", count); }
  /// So many GPUs that the host tells of one by one, without counting them as a resource.
  a_node& cards(std::size_t count, std::string model = "", std::int64_t memory_mib = 0) {
    spec.devices.gpus.resize(count);
    spec.devices.gpu.model = std::move(model);
    spec.devices.gpu.memory_mib = memory_mib;
    return *this;
  }
  a_node& pods(std::int64_t allowed) { return resource("pods", allowed); }
  a_node& label(const std::string& key, std::string value) {
    spec.labels[key] = std::move(value);
    return *this;
  }
  a_node& zone(std::string name) { return label("topology.kubernetes.io/zone", std::move(name)); }
  a_node& taint(std::string key, std::string value = "", taint_effect effect = taint_effect::no_schedule) {
    spec.taints.push_back({std::move(key), std::move(value), effect});
    return *this;
  }
  a_node& image(std::string name, std::int64_t size_bytes) {
    spec.images.push_back({{std::move(name)}, size_bytes});
    return *this;
  }
  a_node& declare(std::string feature) {
    spec.declared_features.push_back(std::move(feature));
    return *this;
  }
  a_node& unschedulable(bool is = true) { return spec.unschedulable = is, *this; }
  a_node& cookie(std::uint64_t word) { return spec.cookie = word, *this; }
};

/// A pod with one container that requests nothing, in namespace "default".
struct a_pod {
  pod_spec spec;

  explicit a_pod(std::string name) {
    spec.name = std::move(name);
    spec.containers.emplace_back();
  }
  operator const pod_spec&() const noexcept { return spec; }

  /// What the (last) container requests.
  a_pod& resource(const std::string& name, quantity amount) {
    spec.containers.back().requests[name] = amount;
    return *this;
  }
  a_pod& resource(const std::string& name, std::string_view text) { return resource(name, quantity_of(text)); }
  a_pod& cpu(std::int64_t cores) { return resource("cpu", cores); }
  a_pod& cpu_milli(std::int64_t milli) { return resource("cpu", quantity::from_milli(milli)); }
  a_pod& memory(std::string_view text) { return resource("memory", text); }
  a_pod& gpus(std::int64_t count) { return resource("nvidia.com/gpu", count); }
  a_pod& device(device_request request) {
    spec.devices.push_back(std::move(request));
    return *this;
  }
  /// A part of one GPU, or several GPUs as a whole.
  a_pod& milli(std::int32_t thousandths) { return device({.milli = thousandths}); }
  a_pod& cards(std::int32_t count) { return device({.count = count}); }
  a_pod& image(std::string name) {
    spec.containers.back().image = std::move(name);
    return *this;
  }
  a_pod& port(std::int32_t host_port, gangsched::protocol protocol = gangsched::protocol::tcp, std::string ip = "") {
    spec.containers.back().ports.push_back({host_port, protocol, std::move(ip)});
    return *this;
  }
  /// One more container; requests, image and ports that follow are its.
  a_pod& container() { return spec.containers.emplace_back(), *this; }

  a_pod& ns(std::string name) { return spec.ns = std::move(name), *this; }
  a_pod& label(const std::string& key, std::string value) {
    spec.labels[key] = std::move(value);
    return *this;
  }
  a_pod& tolerate(std::string key, std::string value = "", std::optional<taint_effect> effect = {}) {
    const auto op = value.empty() ? toleration_operator::exists : toleration_operator::equal;
    spec.tolerations.push_back({std::move(key), op, std::move(value), effect});
    return *this;
  }
  a_pod& tolerate_everything() {
    spec.tolerations.push_back({.op = toleration_operator::exists});
    return *this;
  }
  a_pod& select(const std::string& key, std::string value) {
    spec.node_selector[key] = std::move(value);
    return *this;
  }
  /// A feature that its node has to declare.
  a_pod& require(std::string feature) {
    spec.required_features.push_back(std::move(feature));
    return *this;
  }
  a_pod& prefer(std::int32_t weight, std::string key, std::vector<std::string> values) {
    selector_requirement one{std::move(key), selector_operator::in, std::move(values)};
    spec.affinity.preferred.push_back({weight, {.match_expressions = {std::move(one)}}});
    return *this;
  }
  /// Never in one domain of @p topology_key with pods that have the label.
  a_pod& avoid(const std::string& key, std::string value, std::string topology_key = "kubernetes.io/hostname") {
    label_selector selector{.match_labels = {{key, std::move(value)}}};
    spec.anti_affinity_to_pods.required.push_back({std::move(topology_key), std::move(selector)});
    return *this;
  }
  a_pod& priority(std::int32_t value) { return spec.priority = value, *this; }
  /// Of the QoS class Guaranteed, as the host says.
  a_pod& guaranteed() { return spec.guaranteed = true, *this; }
  a_pod& priority_class(std::string name) { return spec.priority_class = std::move(name), *this; }
  a_pod& gate(std::string name) {
    spec.scheduling_gates.push_back(std::move(name));
    return *this;
  }
  a_pod& queue(std::string name) { return spec.queue = std::move(name), *this; }
  a_pod& in(group_id group) { return spec.group = group, *this; }
  a_pod& on(node_id node) { return spec.node = node, *this; }
  a_pod& nominated(node_id node) { return spec.nominated_node = node, *this; }
  a_pod& terminating(bool is = true) { return spec.terminating = is, *this; }
  a_pod& cookie(std::uint64_t word) { return spec.cookie = word, *this; }
};

/// A gang of the group cycle in namespace "default".
struct a_gang {
  group_spec spec;

  explicit a_gang(std::string name, std::int32_t min_count = 1) {
    spec.name = std::move(name);
    spec.policy = gang{.min_count = min_count};
  }
  operator const group_spec&() const noexcept { return spec; }

  a_gang& min_count(std::int32_t count) { return policy().min_count = count, *this; }
  /// Its members are placed one by one and wait in the permit room.
  a_gang& permit() { return policy().mode = gang_mode::permit, *this; }
  a_gang& timeout(instant after) { return policy().timeout = after, *this; }
  a_gang& atomic(bool is = true) { return policy().atomic = is, *this; }
  a_gang& ns(std::string name) { return spec.ns = std::move(name), *this; }
  a_gang& priority(std::int32_t value) { return spec.priority = value, *this; }
  a_gang& topology(std::string key) { return spec.topology.within = {std::move(key)}, *this; }
  a_gang& cookie(std::uint64_t word) { return spec.cookie = word, *this; }

 private:
  gang& policy() { return std::get<gang>(spec.policy); }
};

}  // namespace gangsched::testing
