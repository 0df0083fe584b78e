#pragma once
#include <gangsched/kube/simulation.hpp>
#include <gangsched/record/recorder.hpp>
#include <gangsched/report/metrics.hpp>
#include <gangsched/report/trace.hpp>
#include <optional>
#include <string>

#include "progress.hpp"

namespace simulate {

/// What is kept of a run beside its outcome, and a bar that shows how far it is.
class watching final : public gangsched::kube::simulation::watcher {
 public:
  watching(bool wants_metrics, bool wants_trace, bool wants_log)
      : wants_metrics_(wants_metrics), wants_trace_(wants_trace), wants_log_(wants_log) {}

  gangsched::observer* begins(gangsched::cluster& on, std::size_t pods) override;
  void heard(std::uint64_t pods) override;
  void ends(const gangsched::scheduler& by, const gangsched::cluster& on) override;
  void leaves() noexcept override;

  std::string metrics, trace, log;  ///< once the run is over

 private:
  bool wants_metrics_, wants_trace_, wants_log_;
  std::optional<gangsched::report::metrics> metrics_;
  std::optional<gangsched::report::trace> trace_;
  std::optional<gangsched::record::recorder> log_;
  std::optional<gangsched::observer_list> all_;
  std::optional<examples::progress> bar_;
};

}  // namespace simulate
