#include "kube_figures.hpp"

#include <cstdio>
#include <cstdlib>

namespace bench {
namespace {

constexpr kube_figure figures[] = {
    {"basic-500", "SchedulingBasic", 470, 390},
    {"basic-5000", "SchedulingBasic", 1056, 961},
    {"basic-20000", "SchedulingBasic", 2324, 2084},
    {"basic-5000-50k", "SchedulingBasic", 1124, 0},
    {"basic-500-all", "SchedulingBasic", 875, 788},
    {"basic-5000-all", "SchedulingBasic", 8665, 8463},
    {"basic-20000-all", "SchedulingBasic", 43864, 43404},
    {"basic-5000-smallnode", "SchedulingBasic", 1022, 1011},
    {"one-per-node-default", "ResourceSaturation", 1609, 1376},
    {"one-per-node-signable", "ResourceSaturation", 30, 23},
    {"one-per-node-signable-nobatch", "ResourceSaturation", 1658, 1237},
    {"one-per-node-all-signable", "ResourceSaturation", 29, 26},
    {"anti-affinity", "SchedulingPodAntiAffinity", 3185, 3251},
    {"anti-affinity-all", "SchedulingPodAntiAffinity", 11016, 12688},
    {"prefer-affinity", "SchedulingPreferredPodAffinity", 6594, 7361},
    {"prefer-affinity-all", "SchedulingPreferredPodAffinity", 17403, 19353},
    {"prefer-anti-affinity", "SchedulingPreferredPodAntiAffinity", 6993, 7879},
    {"prefer-anti-affinity-all", "SchedulingPreferredPodAntiAffinity", 17386, 19867},
    {"zone-affinity", "SchedulingPodAffinity", 6224, 9324},
    {"zone-affinity-all", "SchedulingPodAffinity", 14847, 15729},
    {"zone-affinity-1zone", "SchedulingPodAffinity", 7569, 6771},
    {"spread-hard", "TopologySpreading", 2012, 1755},
    {"spread-hard-all", "TopologySpreading", 10706, 10001},
    {"spread-soft", "PreferredTopologySpreading", 1656, 1522},
    {"spread-soft-all", "PreferredTopologySpreading", 10524, 11282},
    {"node-affinity", "SchedulingNodeAffinity", 1690, 1951},
    {"node-affinity-all", "SchedulingNodeAffinity", 9905, 11076},
    {"mixed", "MixedSchedulingBasePod", 1963, 1788},
    {"mixed-all", "MixedSchedulingBasePod", 10072, 9333},
    {"unfit", "Unschedulable", 5477, 5248},
    {"unfit-same-priority", "PreemptionBasic", 17826, 16780},
    {"preempt-dry-run", "PreemptionBasic", 14656, 13129},
    {"preempt-and-place", "PreemptionBasic", 14818, 15004},
    {"gang-64", "GangScheduling", 1088, 1038},
    {"gang-1024", "GangScheduling", 2437, 2404},
    {"gang-1024-all", "GangScheduling", 11298, 13075},
    {"gang-64-rack", "GangScheduling", 28734, 23570},
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
