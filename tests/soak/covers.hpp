#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

/// Which public calls a run made, and how often: tests/soak/calls.py compares the names with the headers'.
namespace gangsched::soak {

template <std::size_t N>
struct literal {
  char text[N];
  consteval literal(const char (&from)[N]) noexcept { std::copy_n(from, N, text); }
};

inline std::map<std::string_view, std::uint64_t>& call_counts() {
  static std::map<std::string_view, std::uint64_t> all;
  return all;
}

/// Notes one call. Overloads are told apart by their first parameter: "cluster::contains(pod_id)".
template <literal Name>
void called() {
  static constexpr literal kept = Name;
  static std::uint64_t& count = call_counts()[std::string_view{kept.text}];
  ++count;
}

}  // namespace gangsched::soak
