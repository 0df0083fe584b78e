#include "replay/timeline.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "report_page/page.hpp"

namespace replay {
namespace {

/// A JSON list, made item by item.
class list {
 public:
  explicit list(const char* key) : text_(fmt::format("\"{}\": [", key)) {}
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (!std::exchange(first_, false)) text_ += ',';
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  [[nodiscard]] std::string take() { return std::move(text_ += ']'); }

 private:
  std::string text_;
  bool first_ = true;
};

/// Thousandths of GPUs.
std::int64_t gpus_of(const gangsched::node_spec& node) {
  const auto found = node.allocatable.find("nvidia.com/gpu");
  std::int64_t gpus = 0;
  if (found != node.allocatable.end()) static_cast<void>(found->second.value(gpus));  // the cluster took it: it fits
  return 1000 * gpus;
}

}  // namespace

std::string timeline_json(const workload& work, const outcome& of) {
  const auto at = [&](instant when) {
    const auto since = std::chrono::round<std::chrono::milliseconds>(when - of.first_arrival);
    return static_cast<double>(since.count()) / 1000;
  };
  const auto known = [&](const std::optional<instant>& when) { return when ? fmt::format("{}", at(*when)) : "null"; };
  list usage{"usage"}, nodes{"nodes"}, tenants{"tenants"}, entitled{"tenant_gpus"}, sizes{"sizes"}, jobs{"jobs"},
      reasons{"reasons"}, stays{"stays"};
  for (const usage_point& one : of.usage) usage.add("[{},{},{}]", at(one.from), one.computing, one.idle);
  for (const gangsched::node_spec& one : work.nodes) nodes.add("[{},{}]", report_page::quoted(one.name), gpus_of(one));
  for (const tenant& one : work.tenants) tenants.add("{}", report_page::quoted(one.name)), entitled.add("{}", one.gpus);
  for (const std::string& one : work.sizes) sizes.add("{}", report_page::quoted(one));
  std::map<std::string_view, std::size_t> known_reasons;
  for (std::size_t i = 0; i < work.jobs.size(); ++i) {
    const job& one = work.jobs[i];
    const job_times& its = of.times->jobs[i];
    std::string reason = "null";
    if (!its.rejected_for.empty()) {
      const auto [found, added] = known_reasons.try_emplace(its.rejected_for, known_reasons.size());
      if (added) reasons.add("{}", report_page::quoted(its.rejected_for));
      reason = fmt::format("{}", found->second);
    }
    jobs.add("[{},{},{},{},{},{},{},{}]", report_page::quoted(one.name), one.workers, work.shapes[one.shape].size,
             one.tenant, at(its.complete.value_or(one.arrival)), known(its.started), known(its.ended), reason);
  }
  for (const worker_stay& one : of.times->stays)
    stays.add("[{},{},{},{},{}]", one.job, one.node, at(one.from), known(one.until),
              work.shapes[work.jobs[one.job].shape].gpu_milli);
  return fmt::format("{{\"gpu_milli\": {}, {}, {}, {}, {}, {}, {}, {}, {}}}", of.gpu_milli, usage.take(), nodes.take(),
                     tenants.take(), entitled.take(), sizes.take(), reasons.take(), jobs.take(), stays.take());
}

}  // namespace replay
