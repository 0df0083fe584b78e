#pragma once
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/c/gangsched.h"
#include "gangsched/core/result.hpp"
#include "gangsched/framework/registry.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/scheduler.hpp"

/// What is behind the handles of the C interface, and what every one of its functions is made of.

struct gangsched_error {
  gangsched_code code = GANGSCHED_OK;
  std::string message = {}, object = {}, field = {}, reason = {};
};

struct gangsched_cluster {
  gangsched::cluster model;
};

struct gangsched_registry {
  gangsched::plugin_registry plugins;
};

struct gangsched_configuration {
  using maker = std::function<gangsched::result<std::vector<gangsched::kernel_table>>()>;
  std::vector<maker> profiles = {};
  std::optional<gangsched::instant> initial_backoff = {}, max_backoff = {};
};

namespace gangsched::inline GANGSCHED_ABI::c {

inline constexpr gangsched_code ok = GANGSCHED_OK;

/// Writes the error to @p into, unless that is null. @return its code
gangsched_code refuse(gangsched_error* into, const error& why);
gangsched_code out_of_memory(gangsched_error* into) noexcept;
gangsched_code internal_error(gangsched_error* into, const char* what) noexcept;
/// A pointer that must not be null, is.
gangsched_code missing(gangsched_error* into, const char* what) noexcept;

/// Nothing that is thrown gets past it.
template <class Work>
gangsched_code guarded(gangsched_error* error, Work&& work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return out_of_memory(error);
  } catch (const std::exception& thrown) {
    return internal_error(error, thrown.what());
  } catch (...) {
    return internal_error(error, "not a std::exception");
  }
}
/// For what can say nothing else: @p otherwise.
template <class Said, class Work>
Said quietly(Said otherwise, Work&& work) noexcept {
  try {
    return work();
  } catch (...) {
    return otherwise;
  }
}

inline gangsched_code answer(gangsched_error* error, const result<void>& said) {
  return said ? GANGSCHED_OK : refuse(error, said.error());
}

// Ids as one number, so that a struct of zeros names nothing: the generation above, the row + 1 below.
template <class Id>
constexpr std::uint64_t number(const Id& id) noexcept {
  return (std::uint64_t{id.generation} << 32) | static_cast<std::uint32_t>(id.row + 1);
}
template <class Id>
constexpr Id id_of(std::uint64_t number) noexcept {
  return number == 0 ? Id{} : Id{static_cast<row_t>(number) - 1, static_cast<std::uint32_t>(number >> 32)};
}
constexpr node_id of(gangsched_node_id id) noexcept { return id_of<node_id>(id.value); }
constexpr pod_id of(gangsched_pod_id id) noexcept { return id_of<pod_id>(id.value); }
constexpr group_id of(gangsched_group_id id) noexcept { return id_of<group_id>(id.value); }
constexpr queue_id of(gangsched_queue_id id) noexcept { return id_of<queue_id>(id.value); }
constexpr resource_claim_id of(gangsched_resource_claim_id id) noexcept { return id_of<resource_claim_id>(id.value); }
constexpr gangsched_resource_claim_id handed(resource_claim_id id) noexcept { return {number(id)}; }
constexpr gangsched_node_id handed(node_id id) noexcept { return {number(id)}; }
constexpr gangsched_pod_id handed(pod_id id) noexcept { return {number(id)}; }
constexpr gangsched_group_id handed(group_id id) noexcept { return {number(id)}; }
constexpr gangsched_queue_id handed(queue_id id) noexcept { return {number(id)}; }

inline std::string_view text(const char* from) noexcept { return from == nullptr ? std::string_view{} : from; }
/// A namespace, where an empty one is the default.
inline std::string_view ns_of(const char* from) noexcept { return text(from).empty() ? "default" : text(from); }
constexpr gangsched_text handed(std::string_view from) noexcept { return {from.data(), from.size()}; }
/// A text for the caller to free.
char* copied(std::string_view from);

/// Reads as much of a struct as the caller's version of it has. Nothing if it cannot be: it is larger, and what is unknown is not zero.
template <class Struct>
std::optional<Struct> sized(const Struct* from, std::size_t size) noexcept {
  if (size < sizeof(std::size_t)) return std::nullopt;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(from);
  for (std::size_t i = sizeof(Struct); i < size; ++i)
    if (bytes[i] != 0) return std::nullopt;
  Struct made{};
  std::memcpy(&made, from, size < sizeof(Struct) ? size : sizeof(Struct));
  return made;
}
template <class Struct>
std::optional<Struct> sized(const Struct* from) noexcept {
  return sized(from, from->struct_size);
}
gangsched_code wrong_size(gangsched_error* into, const char* what) noexcept;

}  // namespace gangsched::inline GANGSCHED_ABI::c
