#pragma once
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "gangsched/src/record/fields.hpp"
#include "gangsched/src/record/wire.hpp"

/// Values as bytes and back.
namespace gangsched::inline GANGSCHED_ABI::record {

inline constexpr std::array every_quirk{quirk::negative_namespace_selectors, quirk::scores_without_pod_level_requests,
                                        quirk::trials_know_ports_once, quirk::trials_count_terminating_pods,
                                        quirk::idle_affinity_filter};
inline constexpr unsigned deepest = 16;  ///< requests for devices within requests

[[nodiscard]] constexpr std::uint64_t zigzag(std::int64_t value) noexcept {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
[[nodiscard]] constexpr std::int64_t unzigzag(std::uint64_t value) noexcept {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// --- out

class put_archive {
 public:
  explicit put_archive(writer& out) noexcept : out_(&out) {}
  template <class... Fields>
  void fields(const char*, const Fields&... all) {
    (put(all), ...);
  }

  void put(bool value) { out_->byte(value ? 1 : 0); }
  template <class T>
    requires std::is_integral_v<T>
  void put(T value) {
    if constexpr (std::is_signed_v<T>)
      out_->number(zigzag(value));
    else
      out_->number(value);
  }
  template <class T>
    requires std::is_enum_v<T>
  void put(T value) {
    out_->number(static_cast<std::uint64_t>(value));
  }
  void put(double value) { out_->fixed(std::bit_cast<std::uint64_t>(value), 8); }
  void put(instant value) { put(std::int64_t{value.count()}); }
  void put(std::string_view value) { out_->text(value); }
  void put(const std::string& value) { out_->text(value); }
  void put(const quantity& value) {
    const quantity::nanos_t nanos = value.nanos();
    out_->wide_number(static_cast<wide>(nanos) << 1 ^ static_cast<wide>(nanos >> 127));
    put(value.format());
  }
  template <class Tag>
  void put(const id<Tag>& value) {
    out_->number(value ? std::uint64_t{value.row} + 1 : 0);
    if (value) out_->number(value.generation);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class T>
  void put(std::span<T> all) {
    out_->number(all.size());
    for (const auto& one : all) put(one);
  }
  template <class T>
  void put(const std::vector<T>& all) {
    put(std::span{all});
  }
  template <class T>
  void put(const sorted_map<T>& all) {
    out_->number(all.size());
    for (const auto& [name, value] : all) out_->text(name), put(value);
  }
  template <class... T>
  void put(const std::variant<T...>& value) {
    out_->number(value.index());
    std::visit([this](const auto& one) { this->put(one); }, value);
  }
  template <class A, class B>
  void put(const std::pair<A, B>& value) {
    put(value.first), put(value.second);
  }
  template <class T, std::size_t N>
  void put(const std::array<T, N>& all) {
    for (const T& one : all) put(one);
  }
  void put(const basic&) {}
  void put(const mig_table& value) {
    out_->text(value.name());
    put(value.compute_slices()), put(value.memory_slices());
    put(value.profiles());
  }
  void put(const kube_semantics& value) {
    put(value.release());
    for (const quirk one : every_quirk) put(value.has(one));
  }
  template <class T>
    requires requires(put_archive& self, const T& value) { visit_fields(self, value); }
  void put(const T& value) {
    visit_fields(*this, value);
  }

 private:
  writer* out_;
};

// --- in

class get_archive {
 public:
  explicit get_archive(reader& in) noexcept : in_(&in) {}
  template <class... Fields>
  void fields(const char*, Fields&... all) {
    (get(all), ...);
  }

  void get(bool& value) {
    const unsigned one = in_->byte();
    if (one > 1) in_->fail();
    value = one == 1;
  }
  template <class T>
    requires std::is_integral_v<T>
  void get(T& value) {
    if constexpr (std::is_signed_v<T>) {
      const std::int64_t one = unzigzag(in_->number());
      if (one < std::numeric_limits<T>::min() || one > std::numeric_limits<T>::max()) return in_->fail();
      value = static_cast<T>(one);
    } else {
      const std::uint64_t one = in_->number();
      if (one > std::numeric_limits<T>::max()) return in_->fail();
      value = static_cast<T>(one);
    }
  }
  template <class T>
    requires std::is_enum_v<T>
  void get(T& value) {
    static_assert(last_of<T> != T{}, "its last value is named in fields.hpp");
    const std::uint64_t one = in_->number();
    if (one > static_cast<std::uint64_t>(last_of<T>)) return in_->fail();
    value = static_cast<T>(one);
  }
  void get(double& value) { value = std::bit_cast<double>(in_->fixed(8)); }
  void get(instant& value) {
    std::int64_t count = 0;
    get(count);
    value = instant{count};
  }
  void get(std::string& value) { value = std::string{in_->text()}; }
  void get(quantity& value) {
    const wide one = in_->wide_number();
    const auto nanos = static_cast<quantity::nanos_t>((one >> 1) ^ (~(one & 1) + 1));
    quantity_format format{};
    get(format);
    if (one == ~wide{0}) return in_->fail();  // below what a quantity may be
    value = quantity::from_nanos(nanos, format);
  }
  template <class Tag>
  void get(id<Tag>& value) {
    const std::uint64_t row = in_->number();
    if (row == 0) return static_cast<void>(value = {});
    if (row > no_row) return in_->fail();
    value.row = static_cast<row_t>(row - 1);
    get(value.generation);
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool there = false;
    get(there);
    value.reset();
    if (there) get(value.emplace());
  }
  void get(std::optional<mig_table>& value) {
    bool there = false;
    get(there);
    value.reset();
    if (!there) return;
    std::string name;
    std::uint8_t compute = 0, memory = 0;
    std::vector<mig_profile> profiles;
    get(name), get(compute), get(memory), get(profiles);
    if (!in_->good()) return;
    auto made = mig_table::make(std::move(name), compute, memory, std::move(profiles));
    if (!made) return in_->fail();
    value.emplace(*std::move(made));
  }
  /// One by one, as long as there is something to read: what is asked for is not more than what is there.
  template <class T>
  void get(std::vector<T>& all) {
    all.clear();
    if (++depth_ > deepest) in_->fail();
    for (std::size_t left = in_->count(); left > 0 && in_->good(); --left) get(all.emplace_back());
    --depth_;
  }
  template <class T>
  void get(sorted_map<T>& all) {
    all.clear();
    for (std::size_t left = in_->count(); left > 0 && in_->good(); --left) {
      std::string name{in_->text()};
      if (!all.empty() && name <= (all.end() - 1)->first) return in_->fail();
      get(all.emplace_hint(all.cend(), std::move(name), T{})->second);
    }
  }
  template <class... T>
  void get(std::variant<T...>& value) {
    const std::uint64_t which = in_->number();
    if (which >= sizeof...(T)) return in_->fail();
    std::uint64_t at = 0;
    static_cast<void>((... || (at++ == which && (get(value.template emplace<T>()), true))));
  }
  template <class A, class B>
  void get(std::pair<A, B>& value) {
    get(value.first), get(value.second);
  }
  template <class T, std::size_t N>
  void get(std::array<T, N>& all) {
    for (T& one : all) get(one);
  }
  void get(basic&) {}
  void get(kube_semantics& value) {
    kube_release release{};
    get(release);
    value = kube_semantics{release};
    for (const quirk one : every_quirk) {
      bool has = false;
      get(has);
      if (!has) value = value.without(one);
    }
  }
  template <class T>
    requires requires(get_archive& self, T& value) { visit_fields(self, value); }
  void get(T& value) {
    visit_fields(*this, value);
  }

 private:
  reader* in_;
  unsigned depth_ = 0;
};

/// What an argument that a call takes is kept as.
template <class T>
struct kept_as {
  using type = T;
};
template <>
struct kept_as<std::string_view> {
  using type = std::string;
};
template <class T>
struct kept_as<std::span<T>> {
  using type = std::vector<std::remove_const_t<T>>;
};
template <class T>
using kept = typename kept_as<std::remove_cvref_t<T>>::type;

}  // namespace gangsched::inline GANGSCHED_ABI::record
