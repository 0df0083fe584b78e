#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gangsched/framework/past.hpp"
#include "gangsched/model/restored_cluster.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Saves objects as they were, each once, however many events hold it.
class GANGSCHED_API past_saver {
 public:
  /// @p classes: what saves the cluster. It is kept elsewhere.
  explicit past_saver(model::cluster_saver& classes) noexcept : classes_(&classes) {}

  /// 1 + its place among the saved ones; 0 for null. O(size), the first time. @p was is kept elsewhere
  [[nodiscard]] std::uint32_t number_of(const std::shared_ptr<const past_node>& was);
  [[nodiscard]] std::uint32_t number_of(const std::shared_ptr<const past_pod>& was);
  [[nodiscard]] saved_past take() && noexcept { return std::move(made_); }

 private:
  model::cluster_saver* classes_;
  std::map<const void*, std::uint32_t> numbers_;
  saved_past made_;
};

/// Them again, by their numbers.
class GANGSCHED_API past_objects {
 public:
  /// @p classes: by number. Error: malformed, and nothing is changed but names that @p in may know now. O(size).
  [[nodiscard]] std::optional<error> restore(model::cluster_state& in, const saved_past& from,
                                             std::span<const class_id> classes);

  [[nodiscard]] bool has_node(std::uint32_t number) const noexcept { return number <= nodes_.size(); }
  [[nodiscard]] bool has_pod(std::uint32_t number) const noexcept { return number <= pods_.size(); }
  /// Null for 0. @pre it is there
  [[nodiscard]] std::shared_ptr<const past_node> node(std::uint32_t number) const {
    return number == 0 ? nullptr : nodes_[number - 1];
  }
  [[nodiscard]] std::shared_ptr<const past_pod> pod(std::uint32_t number) const {
    return number == 0 ? nullptr : pods_[number - 1];
  }

 private:
  std::vector<std::shared_ptr<const past_node>> nodes_;
  std::vector<std::shared_ptr<const past_pod>> pods_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/saved_past.cpp"
#endif
