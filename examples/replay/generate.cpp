#include "replay/generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "replay/random.hpp"

namespace replay {
namespace {

/// Seconds that a share of all values (in 1/1000) does not exceed.
struct quantile {
  std::int64_t permille;
  std::int64_t seconds;
};

/// A value with these quantiles, linear between them.
std::int64_t draw(random& from, std::span<const quantile> all) {
  constexpr std::int64_t fine = 1000;
  const std::int64_t at = from.below(1000 * fine);
  const auto high = std::ranges::upper_bound(all, at, {}, [](const quantile& q) { return q.permille * fine; });
  const quantile& above = high == all.end() ? all.back() : *high;
  const quantile& below = *std::prev(high);
  return below.seconds +
         (above.seconds - below.seconds) * (at - below.permille * fine) / ((above.permille - below.permille) * fine);
}

/// One of @p all, each as often as its `count` says.
template <class T>
const T& pick(random& from, std::span<const T> all) {
  std::int64_t sum = 0;
  for (const T& one : all) sum += one.count;
  std::int64_t left = from.below(sum);
  for (const T& one : all) {
    if ((left -= one.count) < 0) return one;
  }
  return all.back();
}

// --- openb_node_list_gpu_node.csv and openb_pod_list_default.csv, summed up

struct node_kind {
  std::int64_t count, cpu_milli, memory_mib, gpus;
  const char* model;
};
constexpr std::array node_kinds{
    node_kind{22, 64000, 262144, 2, "P100"},    node_kind{107, 16000, 122880, 2, "P100"},
    node_kind{3, 8000, 61440, 1, "P100"},       node_kind{2, 8000, 61440, 2, "P100"},
    node_kind{387, 104000, 524288, 2, "T4"},    node_kind{17, 96000, 393216, 4, "T4"},
    node_kind{28, 32000, 131072, 4, "V100M16"}, node_kind{19, 8000, 32768, 1, "V100M16"},
    node_kind{7, 64000, 262144, 8, "V100M16"},  node_kind{1, 82000, 344064, 8, "V100M16"},
    node_kind{21, 96000, 786432, 8, "V100M32"}, node_kind{9, 48000, 376832, 4, "V100M32"},
    node_kind{549, 96000, 393216, 8, "G2"},     node_kind{39, 128000, 786432, 8, "G3"},
    node_kind{2, 128000, 1048576, 1, "A10"},
};

/// The 40 commonest of 151 kinds of pods, and all of those with several GPUs.
struct pod_kind {
  std::int64_t count, gpus, gpu_milli, cpu_milli, memory_mib;
};
constexpr std::array pod_kinds{
    pod_kind{1047, 1, 810, 3152, 5600},   pod_kind{857, 1, 1000, 11300, 49152}, pod_kind{534, 1, 1000, 11400, 48128},
    pod_kind{470, 1, 1000, 3152, 5600},   pod_kind{388, 1, 470, 11908, 47104},  pod_kind{364, 0, 0, 12500, 57344},
    pod_kind{360, 1, 470, 8000, 30517},   pod_kind{284, 0, 0, 32000, 49152},    pod_kind{255, 1, 1000, 18708, 64512},
    pod_kind{237, 1, 650, 11908, 47104},  pod_kind{195, 1, 1000, 9810, 41560},  pod_kind{163, 0, 0, 8000, 30517},
    pod_kind{158, 1, 1000, 12000, 24576}, pod_kind{158, 1, 1000, 15700, 58368}, pod_kind{153, 1, 1000, 11908, 47104},
    pod_kind{120, 0, 0, 15400, 51200},    pod_kind{111, 1, 320, 4000, 22888},   pod_kind{108, 1, 1000, 16000, 32768},
    pod_kind{104, 1, 1000, 8000, 16384},  pod_kind{104, 1, 1000, 4000, 24576},  pod_kind{99, 1, 1000, 12000, 16384},
    pod_kind{95, 0, 0, 16500, 51200},     pod_kind{93, 1, 1000, 14200, 58368},  pod_kind{84, 1, 230, 4000, 30517},
    pod_kind{84, 1, 1000, 24200, 93184},  pod_kind{78, 1, 320, 4000, 15258},    pod_kind{75, 1, 590, 3152, 5600},
    pod_kind{72, 1, 320, 8000, 30517},    pod_kind{72, 1, 550, 4152, 10600},    pod_kind{65, 1, 1000, 11400, 77824},
    pod_kind{55, 1, 1000, 8000, 32768},   pod_kind{53, 1, 160, 4000, 15258},    pod_kind{51, 1, 460, 6000, 6144},
    pod_kind{51, 1, 1000, 11900, 77824},  pod_kind{45, 1, 370, 4152, 10600},    pod_kind{44, 1, 1000, 12000, 15360},
    pod_kind{43, 1, 320, 4000, 30517},    pod_kind{41, 1, 1000, 8200, 33792},   pod_kind{40, 1, 1000, 4000, 31250},
    pod_kind{36, 1, 1000, 15200, 80896},  pod_kind{7, 2, 1000, 16200, 66560},   pod_kind{3, 2, 1000, 6000, 65536},
    pod_kind{3, 2, 1000, 30200, 160768},  pod_kind{2, 2, 1000, 17400, 43008},   pod_kind{1, 2, 1000, 14000, 60000},
    pod_kind{9, 4, 1000, 32200, 132096},  pod_kind{3, 4, 1000, 32000, 131072},  pod_kind{3, 4, 1000, 60200, 320512},
    pod_kind{18, 8, 1000, 88000, 327680}, pod_kind{18, 8, 1000, 64200, 263168}, pod_kind{3, 8, 1000, 120000, 737280},
    pod_kind{3, 8, 1000, 64000, 262144},  pod_kind{2, 8, 1000, 120200, 640000},
};

/// The commonest sets in openb_pod_list_gpuspec33.csv.
struct model_choice {
  std::int64_t count;
  std::array<const char*, 3> models;
};
constexpr std::array model_choices{
    model_choice{1291, {"T4"}},
    model_choice{331, {"G2"}},
    model_choice{279, {"P100"}},
    model_choice{141, {"V100M16", "V100M32"}},
    model_choice{103, {"P100", "V100M16", "V100M32"}},
    model_choice{86, {"G3"}},
};

constexpr std::array<quantile, 13> pod_lifetimes{{{0, 10},
                                                  {100, 80},
                                                  {200, 146},
                                                  {300, 202},
                                                  {400, 301},
                                                  {500, 540},
                                                  {600, 883},
                                                  {700, 1422},
                                                  {800, 2700},
                                                  {900, 6574},
                                                  {950, 16425},
                                                  {990, 86400},
                                                  {1000, 86401}}};

constexpr std::size_t pod_count = 30'000;
constexpr std::int64_t pods_come_within = 5400;

// --- philly_gangs.csv, summed up

struct training_kind {
  std::int64_t count, workers;
  std::array<quantile, 14> durations;
};
constexpr std::array training_kinds{
    training_kind{10480,
                  1,
                  {{{0, 17},
                    {100, 576},
                    {200, 2109},
                    {300, 2991},
                    {400, 4403},
                    {500, 7734},
                    {600, 16504},
                    {700, 35433},
                    {800, 73766},
                    {900, 198129},
                    {950, 532604},
                    {990, 3236483},
                    {999, 7607877},
                    {1000, 11337573}}}},
    training_kind{336,
                  2,
                  {{{0, 1127},
                    {100, 4618},
                    {200, 17961},
                    {300, 37005},
                    {400, 59420},
                    {500, 93783},
                    {600, 136259},
                    {700, 194942},
                    {800, 298633},
                    {900, 437582},
                    {950, 711899},
                    {990, 1970304},
                    {999, 4715687},
                    {1000, 4715688}}}},
    training_kind{1495,
                  4,
                  {{{0, 486},
                    {100, 2784},
                    {200, 6672},
                    {300, 11781},
                    {400, 21926},
                    {500, 34398},
                    {600, 51784},
                    {700, 74714},
                    {800, 107410},
                    {900, 177046},
                    {950, 291432},
                    {990, 768380},
                    {999, 5802089},
                    {1000, 6077854}}}},
    training_kind{1405,
                  8,
                  {{{0, 211},
                    {100, 652},
                    {200, 1507},
                    {300, 3351},
                    {400, 7017},
                    {500, 16131},
                    {600, 27768},
                    {700, 42793},
                    {800, 65803},
                    {900, 119147},
                    {950, 205230},
                    {990, 526872},
                    {999, 884368},
                    {1000, 1510840}}}},
};
constexpr std::array<quantile, 14> training_arrivals{{{0, 0},
                                                      {100, 1548017},
                                                      {200, 2192489},
                                                      {300, 2575573},
                                                      {400, 2692196},
                                                      {500, 3231852},
                                                      {600, 3796441},
                                                      {700, 4176480},
                                                      {800, 4468456},
                                                      {900, 6234298},
                                                      {950, 7198254},
                                                      {990, 8760843},
                                                      {999, 9904293},
                                                      {1000, 10817571}}};
constexpr std::size_t trainings = 13'716;

/// How many of a thousand jobs each virtual cluster has.
struct cluster_share {
  std::int64_t count;
  const char* name;
};
constexpr std::array cluster_shares{cluster_share{170, "vc-a"}, cluster_share{160, "vc-b"}, cluster_share{150, "vc-c"},
                                    cluster_share{140, "vc-d"}, cluster_share{90, "vc-e"},  cluster_share{80, "vc-f"},
                                    cluster_share{70, "vc-g"},  cluster_share{60, "vc-h"},  cluster_share{50, "vc-i"},
                                    cluster_share{30, "vc-j"}};

enum stream : std::uint64_t { of_pods = 1'000'000'001, of_trainings, of_clusters };  // beside those of the replay

}  // namespace

openb::trace generate_openb(std::uint64_t seed) {
  openb::trace to;
  to.source = fmt::format("generated, seed {}", seed);
  for (const node_kind& kind : node_kinds) {
    for (std::int64_t i = 0; i < kind.count; ++i) {
      to.nodes.push_back({.name = fmt::format("node-{:04}", to.nodes.size()),
                          .cpu_milli = kind.cpu_milli,
                          .memory_mib = kind.memory_mib,
                          .gpus = kind.gpus,
                          .model = kind.model});
    }
  }
  random from{seed, of_pods};
  for (std::size_t i = 0; i < pod_count; ++i) {
    const auto& kind = pick<pod_kind>(from, pod_kinds);
    openb::pod& p = to.pods.emplace_back();
    p.name = fmt::format("pod-{:05}", i);
    p.cpu_milli = kind.cpu_milli;
    p.memory_mib = kind.memory_mib;
    p.gpus = kind.gpus;
    p.gpu_milli = kind.gpu_milli;
    if (from.below(10) == 0 && kind.gpus == 1) {
      for (const char* model : pick<model_choice>(from, model_choices).models) {
        if (model != nullptr) p.models.emplace_back(model);
      }
    }
    p.creation = from.below(pods_come_within);
    p.deletion = p.creation + draw(from, pod_lifetimes);
  }
  return to;
}

philly::trace generate_philly(std::uint64_t seed) {
  philly::trace to;
  to.source = fmt::format("generated, seed {}", seed);
  random from{seed, of_trainings}, owners{seed, of_clusters};
  for (std::size_t i = 0; i < trainings; ++i) {
    const auto& kind = pick<training_kind>(from, training_kinds);
    to.jobs.push_back({.name = fmt::format("job-{:05}", i),
                       .cluster = pick<cluster_share>(owners, cluster_shares).name,
                       .arrival = draw(from, training_arrivals),
                       .workers = kind.workers,
                       .duration = draw(from, kind.durations)});
  }
  return to;
}

}  // namespace replay
