#pragma once
#include <cstddef>
#include <string>

#include "simulate/outcome.hpp"

namespace simulate {

struct report_options {
  bool all = false;       ///< pods that ran before and still do, too
  bool gpus = false;      ///< how full each GPU is in the end
  bool ascii = false;     ///< drawn with ASCII only
  bool queues = false;    ///< what each queue has in the end
  bool timeline = false;  ///< who had which node when, and why pods waited; not in text
  int indent = 2;         ///< of JSON; -1: all in one line
  std::size_t top = 10;   ///< nodes that are told one by one of who is asked about; of more those alike are one line
};

/// For people: the table of pods, or what the nodes say to the pod that was asked about, and one line about the whole.
[[nodiscard]] std::string text_report(const outcome& of, const report_options& how);
/// For programs; docs/simulate.md says what the fields are.
[[nodiscard]] std::string json_report(const outcome& of, const report_options& how);
[[nodiscard]] std::string yaml_report(const outcome& of, const report_options& how);

/// Whether the pod belongs into a report.
[[nodiscard]] inline bool is_shown(const pod_outcome& pod, const report_options& how) {
  return how.all || pod.is != fate::running;
}

}  // namespace simulate
