#include "replay/options.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <map>

namespace replay {
namespace {

constexpr const char* about =
    R"(Replays the arrivals and departures of real GPU clusters in virtual time through a gangsched scheduler, and reports what became
of the pods and gangs, how long they waited and how fast the scheduler decided.

Without files it generates a cluster and jobs of the same shape from the seed.)";

constexpr const char* where =
    R"(Data
  openb   nodes and pods of a production cluster with 6,212 GPUs
          https://github.com/alibaba/clusterdata, folder cluster-trace-gpu-v2023/csv:
          openb_node_list_gpu_node.csv (or _all_node), openb_pod_list_*.csv
  philly  columns job,arrival_s,workers,duration_s, and vc for --queues (others are ignored), one job a line; every worker takes one GPU.
          Made from the traces in https://github.com/stanford-futuredata/gavel, folder scheduler/traces/msr:
          duration = steps / the throughput that gavel measured for that model and gang size on V100s

Examples
  gangsched-replay --nodes openb_node_list_gpu_node.csv --pods openb_pod_list_default.csv --stay
  gangsched-replay --gangs philly_gangs.csv --gpus 512 --json
  gangsched-replay --gangs philly_gangs.csv --queues

Exit codes: 0; 1 something went wrong; 2 a mistake in the command line or a bad file (file:line:column: reason).)";

}  // namespace

parsed parse(int argc, char** argv) {
  parsed result;
  command_line& to = result.options;
  CLI::App app{about, "gangsched-replay"};
  app.footer(where);
  app.get_formatter()->column_width(24);

  auto* nodes = app.add_option("--nodes", to.nodes, "Node list of openb")->type_name("FILE");
  auto* pods =
      app.add_option("--pods", to.pods, "Pod list of openb; pods without times arrive one second apart and stay")
          ->type_name("FILE");
  nodes->needs(pods);
  pods->needs(nodes);
  app.add_option("--gangs", to.gangs, "Job list of philly; replayed with gang scheduling and without, side by side")
      ->type_name("FILE");
  app.add_option("--gpus", to.gpus,
                 "GPUs of philly's cluster, in nodes of 8 (default: jobs ask for 90 % of them in the busiest quarter)")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000).description(""));
  app.add_option("--speed", to.speed, "Arrivals come X times as fast; lifetimes stay as they are")
      ->type_name("X")
      ->check(CLI::Range(0.1, 1e6).description(""))
      ->capture_default_str();
  app.add_option("--spread", to.spread, "Seconds within which the workers of a philly job arrive")
      ->type_name("S")
      ->check(CLI::Range(0, 86'400).description(""))
      ->capture_default_str();
  app.add_flag("--stay", to.stay, "Pods of openb never leave: the cluster fills up, as in the papers on fragmentation");
  const std::map<std::string, profile_choice> profiles{{"pack", profile_choice::pack},
                                                       {"spread", profile_choice::spread}};
  app.add_option("--profile", to.profile, "pack: fill nodes up (MostAllocated); spread: Kubernetes' default [pack]")
      ->type_name("pack|spread")
      ->transform(CLI::CheckedTransformer(profiles).description(""));
  app.add_option("--seed", to.seed, "Of generated input, of ties, of when workers arrive")
      ->type_name("N")
      ->capture_default_str();
  auto* queues =
      app.add_flag("--queues", to.queues,
                   "Philly's virtual clusters as queues: what each had under each policy, and in a cluster of its own");
  app.add_option("--policies", to.policies,
                 "Plugins that divide the cluster, by name; FIFO: nobody does [FIFO,FairShare,Kai,HiveD]")
      ->type_name("NAMES")
      ->delimiter(',')
      ->needs(queues);
  auto* json = app.add_flag("--json", to.json, "The key figures as JSON instead of the report");
  app.add_flag("--timeline", to.timeline, "In JSON also which worker had which node when, and when jobs started")
      ->needs(json);
  app.add_option("--report", to.report, "Also write a page there that shows the replays: HTML, by itself")
      ->type_name("FILE");

  try {
    app.parse(argc, argv);
    if (to.policies.empty()) to.policies = {"FIFO", "FairShare", "Kai", "HiveD"};
  } catch (const CLI::ParseError& failure) {
    result.exit_code = app.exit(failure) == 0 ? 0 : 2;
  }
  return result;
}

}  // namespace replay
