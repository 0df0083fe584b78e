#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"

/// Families of metrics and their text (Prometheus' exposition format 0.0.4).
namespace gangsched::inline GANGSCHED_ABI::report::detail {

enum class metric_kind : std::uint8_t { counter, gauge, histogram };

/// Exponential buckets: the first ends at `first`, each next one at `factor` times that; behind the last comes +Inf.
struct bucket_rule {
  double first = 0, factor = 0;
  std::size_t count = 0;
};

/// What a family is, in static storage.
struct family_words {
  std::string_view name;       ///< without "scheduler_"
  std::string_view stability;  ///< "STABLE", which stands before the help
  std::string_view help;
  metric_kind kind = metric_kind::counter;
  std::initializer_list<std::string_view> labels = {};
  bucket_rule buckets = {};
};

/// One metric with all its series.
class family {
 public:
  explicit family(const family_words& words);

  using values = std::initializer_list<std::string_view>;  ///< of the labels, in order
  /// To a counter or a gauge. Allocates if the series is new, as `observe` does. O(series).
  void add(values labels, double amount = 1) { find(labels).sum += amount; }
  void observe(values labels, double value);
  /// Nothing if it has no series; one without labels always has its own.
  void write(std::string& out) const;

 private:
  struct series {
    std::vector<std::string> labels;
    std::vector<std::uint64_t> counts;  ///< of a histogram, by bucket, +Inf last
    double sum = 0;
  };
  series& find(values labels);
  void write_line(std::string& out, std::string_view suffix, const series& of, std::string_view le,
                  std::string_view value) const;

  const family_words* words_;
  std::vector<double> ends_;
  std::vector<series> series_;
};

/// As Go writes it with 'g' and the least digits: "0.001", "1e-05", "1e+06", "+Inf".
[[nodiscard]] std::string number_text(double value);

}  // namespace gangsched::inline GANGSCHED_ABI::report::detail
