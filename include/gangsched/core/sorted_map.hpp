#pragma once
#include <boost/container/flat_map.hpp>
#include <initializer_list>
#include <string>
#include <utility>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A `boost::container::flat_map` by name that is quick to compile: Boost's own takes a list of pairs through two sorting algorithms,
/// which costs each file that writes one seconds. This one inserts them in turn, O(n²) for a list of n in the worst order. Of equal keys
/// the first stays.
template <class T>
class sorted_map : public boost::container::flat_map<std::string, T> {
  using base = boost::container::flat_map<std::string, T>;

 public:
  using base::base;
  sorted_map() = default;
  sorted_map(const base& other) : base(other) {}
  sorted_map(base&& other) noexcept : base(std::move(other)) {}
  sorted_map(std::initializer_list<typename base::value_type> all) {
    this->reserve(all.size());
    for (const auto& one : all) this->insert(one);
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI
