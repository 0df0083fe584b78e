#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gangsched/core/instant.hpp"
#include "gangsched/core/interner.hpp"
#include "gangsched/model/affinity_spec.hpp"
#include "gangsched/model/pod_class.hpp"

/// Canonical bytes of a value: equal bytes iff equal values. Classes and selectors are interned by them, and digests hash them. The `put`
/// of each type defines its bytes: labels, selectors and taints in `canonical_selectors.hpp`, devices in `canonical_devices.hpp`,
/// reservations in `canonical_reservations.hpp`, pods in `canonical_class.hpp`.
namespace gangsched::inline GANGSCHED_ABI::canonical {

/// Bytes with names and resource kinds by their numbers, comparable within one cluster only. For keys; appended to @p to.
struct key_bytes {
  std::string& bytes;
  void append(const char* from, std::size_t size) { bytes.append(from, size); }
};

/// Bytes with names and resource kinds by their texts, independent of the numbers. For digests.
struct text_bytes {
  explicit text_bytes(const digest& of) noexcept : names(of.names()), kinds(of.kinds()) {}
  text_bytes(const interner* with_names, const symbol* with_kinds) noexcept : names(with_names), kinds(with_kinds) {}
  const interner* names;
  const symbol* kinds;
  std::string bytes = {};
  void append(const char* from, std::size_t size) { bytes.append(from, size); }
};

/// For lists sorted by symbol, whose order is not canonical.
template <class T>
inline constexpr bool in_order_of_symbols = std::is_same_v<T, symbol> || std::is_same_v<T, label_symbols>;
template <class Value>
inline constexpr bool in_order_of_symbols<std::pair<symbol, Value>> = true;

/// Puts the elements one after another.
template <class Out, class... Fields>
void put_fields(Out& out, const Fields&... fields) {
  (put(out, fields), ...);
}

template <class Out, class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>)
void put(Out& out, T value) {
  const auto word = static_cast<std::uint64_t>(value);
  char bytes[sizeof(T)];
  for (unsigned byte = 0; byte < sizeof(T); ++byte) bytes[byte] = static_cast<char>((word >> (8 * byte)) & 0xff);
  out.append(bytes, sizeof(T));
}
/// To be put before the elements of a list, so that no two lists have the same bytes.
template <class List>
[[nodiscard]] std::uint32_t size_of(const List& list) noexcept {
  return static_cast<std::uint32_t>(list.size());
}
template <class Out>
void put(Out& out, const std::string& text) {
  put(out, size_of(text));
  out.append(text.data(), text.size());
}
template <class Out>
void put(Out& out, symbol value) {
  if constexpr (std::is_same_v<Out, text_bytes>) {
    if (out.names != nullptr) return put(out, std::string{out.names->text(value)});
  }
  put(out, value.value);
}
template <class Out, class Tag>
void put(Out& out, const id<Tag>& value) {
  put_fields(out, value.row, value.generation);
}
template <class Out>
void put(Out& out, instant value) {
  put(out, value.count());
}
template <class Out>
void put(Out& out, const amount& v) {
  bool named = false;
  if constexpr (std::is_same_v<Out, text_bytes>) {
    if (named = out.kinds != nullptr; named) put(out, out.kinds[v.kind]);
  }
  if (!named) put(out, v.kind);
  put(out, v.value);
}
template <class Out, class A, class B>
void put(Out& out, const std::pair<A, B>& value) {
  put_fields(out, value.first, value.second);
}
template <class Out, class T>
void put(Out& out, const std::optional<T>& value) {
  put(out, static_cast<std::uint8_t>(value.has_value()));
  if (value) put(out, *value);
}
/// The bytes of each element by itself, sorted.
template <class T>
void put_sorted(text_bytes& out, const std::vector<T>& values) {
  std::vector<std::string> all;
  for (const T& value : values) {
    text_bytes one{out.names, out.kinds};
    put(one, value);
    all.push_back(std::move(one.bytes));
  }
  std::sort(all.begin(), all.end());
  for (const std::string& one : all) out.append(one.data(), one.size());
}
template <class Out, class T>
void put(Out& out, const std::vector<T>& values) {
  put(out, static_cast<std::uint32_t>(values.size()));
  if constexpr (std::is_same_v<Out, text_bytes> && in_order_of_symbols<T>) {
    put_sorted(out, values);
  } else {
    for (const T& value : values) put(out, value);
  }
}
template <class Out>
void put(Out& out, const label_map& labels) {
  put(out, static_cast<std::uint32_t>(labels.size()));
  for (const auto& label : labels) put(out, label);
}

/// Adds the values one after another.
template <class... Values>
void append(std::string& out, const Values&... values) {
  key_bytes to{out};
  put_fields(to, values...);
}
template <class... Values>
void append(text_bytes& out, const Values&... values) {
  put_fields(out, values...);
}

/// The bytes of the values.
template <class... Values>
[[nodiscard]] std::string bytes(const Values&... values) {
  std::string out;
  append(out, values...);
  return out;
}

/// Adds the values to a digest, one after another, with texts for names.
template <class... Values>
void digest_text(digest& out, const Values&... values) {
  text_bytes text{out};
  append(text, values...);
  out.add(text.bytes);
}

}  // namespace gangsched::inline GANGSCHED_ABI::canonical
