#include "kube_figures.hpp"

#include <cstdio>
#include <cstdlib>

namespace bench {
namespace {

constexpr kube_figure figures[] = {
    {"basic-500", "SchedulingBasic", false, 470, 390},
    {"basic-5000", "SchedulingBasic", false, 1056, 961},
    {"basic-20000", "SchedulingBasic", false, 2324, 2084},
    {"basic-5000-50k", "SchedulingBasic", false, 1124, 0},
    {"basic-500-all", "SchedulingBasic", true, 875, 788},
    {"basic-5000-all", "SchedulingBasic", true, 8665, 8463},
    {"basic-20000-all", "SchedulingBasic", true, 43864, 43404},
    {"basic-5000-smallnode", "SchedulingBasic", false, 1022, 1011},
    {"one-per-node-default", "ResourceSaturation", false, 1609, 1376},
    {"one-per-node-signable", "ResourceSaturation", false, 30, 23},
    {"one-per-node-signable-nobatch", "ResourceSaturation", false, 1658, 1237},
    {"one-per-node-all-signable", "ResourceSaturation", true, 29, 26},
    {"anti-affinity", "SchedulingPodAntiAffinity", false, 3185, 3251},
    {"anti-affinity-all", "SchedulingPodAntiAffinity", true, 11016, 12688},
    {"prefer-affinity", "SchedulingPreferredPodAffinity", false, 6594, 7361},
    {"prefer-affinity-all", "SchedulingPreferredPodAffinity", true, 17403, 19353},
    {"prefer-anti-affinity", "SchedulingPreferredPodAntiAffinity", false, 6993, 7879},
    {"prefer-anti-affinity-all", "SchedulingPreferredPodAntiAffinity", true, 17386, 19867},
    {"zone-affinity", "SchedulingPodAffinity", false, 6224, 9324},
    {"zone-affinity-all", "SchedulingPodAffinity", true, 14847, 15729},
    {"zone-affinity-1zone", "SchedulingPodAffinity", false, 7569, 6771},
    {"spread-hard", "TopologySpreading", false, 2012, 1755},
    {"spread-hard-all", "TopologySpreading", true, 10706, 10001},
    {"spread-soft", "PreferredTopologySpreading", false, 1656, 1522},
    {"spread-soft-all", "PreferredTopologySpreading", true, 10524, 11282},
    {"node-affinity", "SchedulingNodeAffinity", false, 1690, 1951},
    {"node-affinity-all", "SchedulingNodeAffinity", true, 9905, 11076},
    {"mixed", "MixedSchedulingBasePod", false, 1963, 1788},
    {"mixed-all", "MixedSchedulingBasePod", true, 10072, 9333},
    {"unfit", "Unschedulable", false, 5477, 5248},
    {"unfit-same-priority", "PreemptionBasic", false, 17826, 16780},
    {"preempt-dry-run", "PreemptionBasic", false, 14656, 13129},
    {"preempt-and-place", "PreemptionBasic", false, 14818, 15004},
    {"gang-64", "GangScheduling", false, 1088, 1038},
    {"gang-1024", "GangScheduling", false, 2437, 2404},
    {"gang-1024-all", "GangScheduling", true, 11298, 13075},
    {"gang-64-rack", "GangScheduling", false, 28734, 23570},
};

}  // namespace

const kube_figure& kube_figure_of(std::string_view label) {
  for (const kube_figure& one : figures)
    if (one.label == label) return one;
  std::fprintf(stderr, "kube-scheduler has no figure for %.*s\n", static_cast<int>(label.size()), label.data());
  std::exit(1);
}

void count_against_kube(benchmark::State& state, double us_per_pod, const kube_figure& kube) {
  const double theirs = kube.one_thread > 0 ? kube.one_thread : kube.cpu;
  state.counters["us/pod"] = us_per_pod;
  state.counters["kube_us"] = theirs;
  state.counters["ratio"] = theirs / us_per_pod;
}

}  // namespace bench
