#pragma once
#include <gangsched/kube/simulation.hpp>
#include <string>

namespace simulate {

using gangsched::instant;
using namespace gangsched::kube::simulation;

/// What of an outcome people are shown.
struct text_options {
  report_options what;
  bool ascii = false;    ///< GPUs are drawn with ASCII only
  std::size_t top = 10;  ///< nodes that are told one by one of who is asked about; of more those alike are one line
};

/// The table of pods, or what the nodes say to the pod that was asked about, and one line about the whole.
[[nodiscard]] std::string text_report(const outcome& of, const text_options& how);

}  // namespace simulate
