#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gangsched/framework/pod_reads.hpp"
#include "gangsched/framework/views.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The part of a pod's class that @p Reads names. A cached hook that takes it instead of `pod_view`, and reads nothing of nodes that pods
/// change, is called once for all classes that are equal in it: such as pods with equal tolerations, whatever they request.
template <pod_reads Reads>
class pod_part {
 public:
  static constexpr pod_reads facets = Reads;

  constexpr pod_part(const pod_view& whole) noexcept : whole_(whole) {}

  [[nodiscard]] std::span<const toleration_symbols> tolerations() const noexcept {
    needs<pod_reads::tolerations>();
    return whole_.tolerations();
  }
  [[nodiscard]] bool tolerates(const taint_symbols& taint) const noexcept {
    needs<pod_reads::tolerations>();
    return whole_.tolerates(taint);
  }
  [[nodiscard]] std::span<const label_symbols> node_selector() const noexcept {
    needs<pod_reads::node_affinity>();
    return whole_.spec().node_selector;
  }
  [[nodiscard]] const std::optional<std::vector<node_term>>& required_nodes() const noexcept {
    needs<pod_reads::node_affinity>();
    return whole_.spec().required_nodes;
  }
  [[nodiscard]] std::span<const weighted_node_term> preferred_nodes() const noexcept {
    needs<pod_reads::node_affinity>();
    return whole_.spec().preferred_nodes;
  }
  /// Of init containers, containers and image volumes, normalised.
  [[nodiscard]] std::span<const symbol> images() const noexcept {
    needs<pod_reads::images>();
    return whole_.spec().images;
  }
  /// Of its node, ascending, each once.
  [[nodiscard]] std::span<const symbol> required_features() const noexcept {
    needs<pod_reads::features>();
    return whole_.spec().required_features;
  }

  // As of `pod_view`, whatever is read.
  [[nodiscard]] const kube_semantics& semantics() const noexcept { return whole_.semantics(); }
  [[nodiscard]] std::string_view text(symbol name) const { return whole_.text(name); }
  [[nodiscard]] const char* say(std::string_view text) const noexcept { return whole_.say(text); }
  [[nodiscard]] std::optional<symbol> find(std::string_view text) const { return whole_.find(text); }

 private:
  template <pod_reads Facets>
  static constexpr void needs() noexcept {
    static_assert(
        covers(Reads, Facets),
        "a hook asks the pod for something that its pod_part does not read: add that to the pod_part it takes");
  }
  pod_view whole_;
};

}  // namespace gangsched::inline GANGSCHED_ABI
