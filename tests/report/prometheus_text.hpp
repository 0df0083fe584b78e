#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Reads Prometheus' text format 0.0.4 and is strict about it: a family has its HELP and TYPE once, before its samples, which stand
/// together; names, labels and escapes are well formed; buckets add up.
namespace gangsched::testing {

struct prometheus_family {
  std::string help, type;
  std::map<std::string, double> samples;  ///< by name and labels as they are written
};

/// What is wrong with it is in @p wrong.
[[nodiscard]] std::map<std::string, prometheus_family> read_prometheus(std::string_view text,
                                                                       std::vector<std::string>& wrong);

}  // namespace gangsched::testing
