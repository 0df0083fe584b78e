// gangsched-openb NODES.csv PODS.csv… : how much of a real GPU cluster each packing policy gets allocated, and how sure that is.
#include <fmt/format.h>

#include <gangsched/devices/links.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <exception>

#include "openb/experiment.hpp"
#include "progress.hpp"
#include "replay/csv.hpp"

namespace {

using openb::outcome;

struct options {
  std::string nodes;
  std::vector<std::string> lists;
  std::vector<std::string> policies{openb::policies.begin(), openb::policies.end()};
  std::string seeds = "42-51", train = "all";
  std::uint64_t first = 42, last = 51;
  bool json = false;
};

/// The middle of the Student distribution that holds 95 %, for so many degrees of freedom, rounded up.
double student(std::size_t freedom) {
  static constexpr double table[] = {12.71, 4.31, 3.19, 2.78, 2.58, 2.45, 2.37, 2.31, 2.27, 2.23};
  return freedom == 0                  ? 0
         : freedom <= std::size(table) ? table[freedom - 1]
         : freedom < 20                ? 2.21
         : freedom < 40                ? 2.09
                                       : 2.03;
}

struct series {
  double mean = 0, deviation = 0, interval = 0;
};
template <class Value>
series over(const std::vector<outcome>& runs, const Value& value) {
  series made;
  const auto count = static_cast<double>(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) made.mean += value(i) / count;
  double squares = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) squares += (value(i) - made.mean) * (value(i) - made.mean);
  made.deviation = std::sqrt(squares / count);
  if (runs.size() > 1) made.interval = student(runs.size() - 1) * std::sqrt(squares / (count - 1) / count);
  return made;
}

struct line {
  std::string list, policy;
  std::vector<outcome> runs;
};

void print_line(const line& one) {
  const auto at = [&](std::size_t percent) {
    return over(one.runs, [&](std::size_t i) { return one.runs[i].allocated[percent]; });
  };
  const series frag = over(one.runs, [&](std::size_t i) { return one.runs[i].fragmented; });
  const series micros = over(one.runs, [&](std::size_t i) { return one.runs[i].micros; });
  fmt::print("{:<12} {:<11} {:9.2f} {:5.2f} {:9.2f} {:5.2f} {:8.1f} {:7.2f}\n", one.list, one.policy, at(100).mean,
             at(100).deviation, at(130).mean, at(130).deviation, frag.mean, micros.mean);
}

void print_difference(const line& one, const line& fgd) {
  const auto at = [&](std::size_t percent) {
    return over(one.runs,
                [&](std::size_t i) { return one.runs[i].allocated[percent] - fgd.runs[i].allocated[percent]; });
  };
  const series big = over(one.runs, [&](std::size_t i) { return one.runs[i].big_failed; });
  const series fgd_big = over(fgd.runs, [&](std::size_t i) { return fgd.runs[i].big_failed; });
  fmt::print("{:<12} {:<11}", one.list, one.policy);
  for (const std::size_t percent : {std::size_t{90}, std::size_t{100}, std::size_t{130}}) {
    const series d = at(percent);
    fmt::print(" {:+7.2f} ± {:4.2f}", d.mean, d.interval);
  }
  fmt::print("  {:6.1f} {:6.1f}\n", big.mean, fgd_big.mean);
}

void print_json(const std::vector<line>& all) {
  fmt::print("[");
  for (std::size_t i = 0; i < all.size(); ++i) {
    fmt::print("{}\n {{\"list\": \"{}\", \"policy\": \"{}\", \"runs\": [", i == 0 ? "" : ",", all[i].list,
               all[i].policy);
    for (std::size_t k = 0; k < all[i].runs.size(); ++k) {
      const outcome& one = all[i].runs[k];
      fmt::print(
          "{}{{\"alloc_90\": {:.4f}, \"alloc_100\": {:.4f}, \"alloc_130\": {:.4f}, \"frag_100\": {:.3f}, "
          "\"us_per_pod\": {:.3f}}}",
          k == 0 ? "" : ", ", one.allocated[90], one.allocated[100], one.allocated[130], one.fragmented, one.micros);
    }
    fmt::print("]}}");
  }
  fmt::print("\n]\n");
}

int run(const options& asked) {
  std::vector<line> all;
  if (!asked.json) {
    fmt::print("{:<12} {:<11} {:>9} {:>5} {:>9} {:>5} {:>8} {:>7}\n", "list", "policy", "alloc@100", "sd", "alloc@130",
               "sd", "frag@100", "us/pod");
  }
  for (const std::string& path : asked.lists) {
    const auto [nodes, list, gpus] = openb::make_setting(
        replay::openb::read(asked.nodes, path, gangsched::max_node_gpus), asked.train == "earlier-half", path);
    const std::size_t first = all.size();
    for (const std::string& policy : asked.policies) all.push_back({list.name, policy, {}});
    examples::progress bar{list.name, (asked.last - asked.first + 1) * asked.policies.size()};
    for (std::uint64_t seed = asked.first; seed <= asked.last; ++seed) {
      const openb::arrivals order = openb::draw(list, nodes.size(), gpus, seed);
      for (std::size_t i = first; i < all.size(); ++i) {
        all[i].runs.push_back(openb::run(nodes, list, order, all[i].policy, seed));
        bar.show((seed - asked.first) * asked.policies.size() + i - first);
      }
    }
    if (asked.json) continue;
    for (std::size_t i = first; i < all.size(); ++i) print_line(all[i]);
  }
  if (asked.json) return print_json(all), 0;
  const auto fgd_of = [&](const line& one) {
    return std::find_if(all.begin(), all.end(),
                        [&](const line& other) { return other.list == one.list && other.policy == "fgd"; });
  };
  bool titled = false;
  for (const line& one : all) {
    const auto fgd = fgd_of(one);
    if (one.policy == "fgd" || fgd == all.end()) continue;
    if (!std::exchange(titled, true)) {
      fmt::print("\n{:<12} {:<11} {:>14} {:>14} {:>14}  {:>6} {:>6}\n", "minus fgd", "policy", "@90 ± 95 %",
                 "@100 ± 95 %", "@130 ± 95 %", "big %", "fgd's");
    }
    print_difference(one, *fgd);
  }
  return 0;
}

/// The published table's names, in any case, and the plugins' too.
std::string policy_called(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (word.starts_with("gpu")) word.erase(0, 3);
  return word == "fragmentation" ? "fgd" : word == "dotproduct" ? "dotprod" : word;
}

}  // namespace

int main(int count, char** words) {
  options asked;
  CLI::App app{
      "Replays the openb experiment: alloc@100 is the percentage of all GPUs that is allocated when pods for 100 % of "
      "them have "
      "arrived, frag@100 what of the idle ones the expected pods could not use, big % the pods with four or more GPUs "
      "that "
      "found no node."};
  app.add_option("NODES.csv", asked.nodes, "sn, cpu_milli, memory_mib, gpu, model")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("PODS.csv", asked.lists,
                 "name, cpu_milli, memory_mib, num_gpu, gpu_milli, and gpu_spec, creation_time if known")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--policy", asked.policies, "which ones: random, dotprod, clustering, packing, bestfit, fgd, pricing")
      ->delimiter(',')
      ->transform(policy_called)
      ->check(CLI::IsMember(std::vector<std::string>{openb::policies.begin(), openb::policies.end()}));
  app.add_option("--seeds", asked.seeds, "FROM-TO: one run a seed")->capture_default_str();
  app.add_option(
         "--train", asked.train,
         "what is expected: `all` of the list; or its `earlier-half` by creation time, and the later one arrives")
      ->check(CLI::IsMember({"all", "earlier-half"}))
      ->capture_default_str();
  app.add_flag("--json", asked.json, "every run, as JSON");
  CLI11_PARSE(app, count, words);
  try {
    const std::size_t dash = asked.seeds.find('-');
    asked.first = std::stoull(asked.seeds);
    asked.last = dash == std::string::npos ? asked.first : std::stoull(asked.seeds.substr(dash + 1));
    if (asked.last < asked.first || asked.last - asked.first > 100'000) throw std::invalid_argument{"seeds"};
  } catch (const std::logic_error&) {
    fmt::print(stderr, "--seeds: \"{}\" is not FROM-TO\n", asked.seeds);
    return 2;
  }
  try {
    return run(asked);
  } catch (const std::exception& wrong) {
    fmt::print(stderr, "{}\n", wrong.what());
    return 2;
  }
}
